/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The errors libbpf's headers for programs name. */
#ifndef BPFRUN_ERRNO_H
#define BPFRUN_ERRNO_H

#define ENOENT 2
#define ESRCH 3
#define EINVAL 22

#endif
