// Runs the kernel's selftest btf_distill on libbpf and prints what it does, one JSON object per line: BTF as it is with
// the text expected of it, distillations, relocations with libbpf's answer.
#include <test_progs.h>

static const char *subtest;
#define test__start_subtest(name) (subtest = (name), true)
#include "prog_tests/btf_distill.c"
#undef btf__distill_base
#undef btf__relocate

// The BTF of a kernel is too large for a line and is in a file of its own.
static void print_btf(const char *key, const struct btf *btf)
{
	__u32 size = 0;
	const void *raw = btf ? btf__raw_data(btf, &size) : NULL;

	printf(",\"%s\":", key);
	if (!raw)
		printf("null");
	else if (size > 1 << 20)
		printf("\"vmlinux\"");
	else
		print_hex(raw, size);
}

void record_types(struct btf *btf, int n, const char *types[])
{
	printf("{\"case\":\"%s\",\"what\":\"types\"", subtest);
	print_btf("btf", btf);
	print_btf("base", btf__base_btf(btf));
	printf(",\"types\":[");
	for (int i = 0; i < n; i++) {
		printf(i ? "," : "");
		print_string(types[i]);
	}
	printf("]}\n");
}

int record_distill(struct btf *split, struct btf **base, struct btf **distilled)
{
	int err = btf__distill_base(split, base, distilled);

	printf("{\"case\":\"%s\",\"what\":\"distill\",\"err\":%d", subtest, err);
	print_btf("btf", split);
	print_btf("base", btf__base_btf(split));
	print_btf("result", err ? NULL : *distilled);
	print_btf("result_base", err ? NULL : *base);
	printf("}\n");
	return err;
}

int record_relocate(struct btf *split, struct btf *base)
{
	int err;

	printf("{\"case\":\"%s\",\"what\":\"relocate\"", subtest);
	print_btf("btf", split);
	print_btf("base", btf__base_btf(split));
	print_btf("new_base", base);
	btf__add_str(split, "drops the copy in libbpf that was printed, which btf__relocate leaves as it is");
	err = btf__relocate(split, base);
	printf(",\"err\":%d", err);
	print_btf("result", err ? NULL : split);
	printf("}\n");
	return err;
}

int main(void)
{
	test_btf_distill();
	return 0;
}
