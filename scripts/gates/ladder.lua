-- The gate of the ladders in assay/ladders.lua. For a ladder of your own: a file that adds it and ends with ladders.gate "its name".
return require("assay.ladders").gate "ladder"
