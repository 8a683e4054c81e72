-- The gate of the laws in assay/laws.lua. For laws of your own: a file that adds them and ends with laws.gate "its name".
return require("assay.laws").gate "laws"
