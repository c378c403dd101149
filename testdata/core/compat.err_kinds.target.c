// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Every field has another kind: none exists.
#include "target.h"
enum tint { PALE };
struct cmp { void *i; enum tint e; long p; int fn; int s; int f; int arr; int *m; int anon; };
KEEP(cmp, struct cmp)
