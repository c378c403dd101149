// Records what the kernel's selftest btf_distill does instead of judging it.
#pragma once

void record_types(struct btf *btf, int n, const char *types[]);
int record_distill(struct btf *split, struct btf **base, struct btf **distilled);
int record_relocate(struct btf *split, struct btf *base);

#define VALIDATE_RAW_BTF(btf, types...) record_types(btf, sizeof((const char *[]){types}) / sizeof(char *), (const char *[]){types})
#define btf__distill_base(split, base, distilled) record_distill(split, base, distilled)
#define btf__relocate(split, base) record_relocate(split, base)
// BTF of a kernel comes from the file that the tables are made for.
#define btf__load_vmlinux_btf() btf__parse("vmlinux.btf", NULL)
