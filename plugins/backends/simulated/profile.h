/* simulated/profile.h: device profiles: Lua files that are data only and say what public sources report of a device
 * (docs/reference/device-profiles.md). A profile is never evidence about a device. */
#ifndef ASSAY_SIM_PROFILE_H
#define ASSAY_SIM_PROFILE_H
#include "base/json.h"

/* `json` is the profile resolved (base and overrides joined, every name checked); `sha256` is the digest of its canonical
 * text, so comments and the order of fields do not change it. */
typedef struct assay_sim_profile { char *path, sha256[65]; const char *id; assay_json *json; } assay_sim_profile;

/* `name`: a file (a slash or ".lua" in it), or the name of a profile in configs/devices beside the scripts. ASSAY_E_INPUT with
 * file and field for what is wrong in it; did-you-mean for names. */
assay_status assay_sim_profile_load(const char *name, assay_sim_profile *out, assay_error *err);
void assay_sim_profile_free(assay_sim_profile *p);

/* profile_check.c: every field of a resolved profile against the closed vocabulary. `path` names the file in messages. */
assay_status assay_sim_profile_check(const char *path, const assay_json *profile, assay_error *err);
/* What makes a Lua file a profile at all (schema, id, simulated = true); asked of base and overrides alike. */
assay_status assay_sim_profile_check_head(const char *path, const assay_json *profile, assay_error *err);
#endif
