// btf-distill BASE SPLIT NEWBASE OUT: has libbpf (1.5 or newer) distill the base of split BTF and relocate the result onto another base; writes
// OUT.base, OUT.split and, when libbpf does it, OUT.moved. All files are raw BTF. Build: cc -O2 -o btf-distill btf-distill.c -lbpf
// -lelf -lz. The tests of package btf compare with what BPFRUN_DISTILLED names (TestDistillModules).
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void save(const struct btf *btf, const char *out, const char *end)
{
	char path[4096];
	__u32 size;
	const void *raw = btf__raw_data(btf, &size);
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", out, end);
	f = fopen(path, "w");
	if (!raw || !f || fwrite(raw, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct btf *base, *split, *next, *small, *distilled, *again, *again_base;
	const void *raw;
	__u32 size;
	int err;

	if (argc != 5)
		return 2;
	base = btf__parse(argv[1], NULL);
	split = btf__parse_split(argv[2], base);
	next = btf__parse(argv[3], NULL);
	if (!base || !split || !next)
		return 1;
	err = btf__distill_base(split, &small, &distilled);
	if (err) {
		fprintf(stderr, "%s: distill: %s\n", argv[2], strerror(-err));
		return 1;
	}
	save(small, argv[4], "base");
	save(distilled, argv[4], "split");
	// A copy: libbpf keeps the raw data it gave out.
	raw = btf__raw_data(small, &size);
	again_base = btf__new(raw, size);
	raw = btf__raw_data(distilled, &size);
	again = btf__new_split(raw, size, again_base);
	err = btf__relocate(again, next);
	if (err)
		fprintf(stderr, "%s: relocate: %s\n", argv[2], strerror(-err));
	else
		save(again, argv[4], "moved");
	return 0;
}
