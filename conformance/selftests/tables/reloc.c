// Prints the cases of the kernel's selftest core_reloc, one JSON object per line.
#include "prog_tests/core_reloc.c"

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(test_cases); i++) {
		struct core_reloc_test_case t = test_cases[i];

		if (t.setup && t.setup(&t)) {
			fprintf(stderr, "%s: set-up failed\n", t.case_name);
			return 1;
		}
		printf("{\"name\":");
		print_string(t.case_name);
		printf(",\"object\":");
		print_string(t.bpf_obj_file);
		printf(",\"target\":");
		print_string(t.btf_src_file);
		printf(",\"program\":");
		print_string(t.prog_name);
		printf(",\"fails\":%s,\"min_fails\":%s,\"in\":", t.fails ? "true" : "false", t.run_btfgen_fails ? "true" : "false");
		print_hex(t.input, t.input_len);
		printf(",\"out\":");
		print_hex(t.output, t.output_len);
		printf("}\n");
	}
	return 0;
}
