// Prints the cases of the kernel's selftest core_extern, one JSON object per line. The values that it takes from the running
// kernel or from the program are left to the reader.
#include "prog_tests/core_extern.c"

#define FIELD(name) printf("%s\"%s\":[%zu,%zu]", sep, #name, offsetof(struct test_core_extern__data, name), sizeof(test_cases[0].data.name)), sep = ","

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(test_cases); i++) {
		struct test_case *t = &test_cases[i];
		const char *sep = "";

		printf("{\"name\":");
		print_string(t->name);
		printf(",\"config\":");
		print_string(t->cfg);
		printf(",\"fails\":%s,\"data\":", t->fails ? "true" : "false");
		print_hex(&t->data, sizeof(t->data));
		printf(",\"fields\":{");
		FIELD(kern_ver);
		FIELD(missing_val);
		printf("}}\n");
	}
	return 0;
}
