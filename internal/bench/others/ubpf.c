/* Runs a program on uBPF: ubpf interp|jit CODE INPUT. CODE is bytecode, r1 = INPUT's bytes, r2 = their number.
 * Build it against a uBPF checkout of your own, see BENCHMARKS.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ubpf.h>
#include "timing.h"

static struct ubpf_vm *vm;
static ubpf_jit_fn fn;
static unsigned char *mem;
static size_t len;

static unsigned long long interpret(void)
{
	uint64_t ret = 0;

	if (ubpf_exec(vm, mem, len, &ret) < 0)
		exit(4);
	return ret;
}

static unsigned long long jitted(void) { return fn(mem, len); }

int main(int argc, char **argv)
{
	size_t code_len;
	char *err = NULL;
	unsigned char *code = read_file(argv[2], &code_len);

	mem = read_file(argv[3], &len);
	vm = ubpf_create();
	if (ubpf_load(vm, code, code_len, &err) < 0) {
		fprintf(stderr, "%s\n", err);
		return 3;
	}
	if (strcmp(argv[1], "jit"))
		return measure(interpret);
	fn = ubpf_compile(vm, &err);
	if (!fn) {
		fprintf(stderr, "%s\n", err);
		return 3;
	}
	return measure(jitted);
}
