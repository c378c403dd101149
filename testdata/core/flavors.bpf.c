// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Essential names (S3.1): what counts as a flavor suffix and what does not.
#include "core.h"

struct fl { int a; int b; } ACCESS;
struct fl___one { int a; int b; } ACCESS;
struct fl___one___two { int a; int b; } ACCESS;
struct fl____four { int a; int b; } ACCESS;
struct ___lead { int a; int b; } ACCESS;
struct tail___ { int a; int b; } ACCESS;

PROBE(none) { out[0] = ((struct fl *)IN)->b; return 0; }
PROBE(one) { out[0] = ((struct fl___one *)IN)->b; return 0; }
PROBE(two) { out[0] = bpf_core_field_exists(struct fl___one___two, b); return 0; }
PROBE(four) { out[0] = bpf_core_field_exists(struct fl____four, b); return 0; }
PROBE(lead) { out[0] = ((struct ___lead *)IN)->b; return 0; }
PROBE(trail) { out[0] = ((struct tail___ *)IN)->b; return 0; }
