// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct node { long pad[4]; int value; struct node *next; };
struct holder { struct node *head; };
KEEP(h, struct holder) KEEP(n, struct node)
