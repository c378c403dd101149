// SPDX-License-Identifier: Apache-2.0
//
// libbpf-core --relo OBJECT BTF: prints, one JSON object per line, what the installed libbpf makes of every CO-RE
// relocation of OBJECT against BTF: {object, btf, program, relo, insn, kind, spec, old, new, result}, which `bpfrun
// conformance core` reads. libbpf stops at the first hard error, which is the last line then ({.., "result":"error"}).
//
// libbpf-core --run OBJECT BTF: loads OBJECT relocated against BTF into the running kernel, sets the global `in` to the
// image all probes read (byte i is i * 7 + 1), runs each raw_tp program once and prints {object, btf, program, ret, out}:
// the elements of the global `out` after it (trailing zeros cut). Programs that do not load print {.., "load": "Invalid argument"};
// "alone" says that the object did not load as a whole, so that each program was loaded without the others.
//
// libbpf-core --load OBJECT: loads every program into the running kernel (nothing is attached), prints the verdict of each.
//
// Needs bpf(2), so root, and libbpf >= 1.6 (bpf_object__prepare). Build: cc -O2 -o libbpf-core libbpf-core.c -lbpf -lelf -lz
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

static const char *object, *btf;
static char prog[256], kind[32], spec[1024];
static long insn = -1, relo = -1;
static int verbose, loading, pending, poisoned;

static const char *base(const char *p)
{
	const char *s = strrchr(p, '/');

	return s ? s + 1 : p;
}

static void line(const char *old, const char *new, const char *result)
{
	printf("{\"object\":\"%s\",\"btf\":\"%s\",\"program\":\"%s\",\"relo\":%ld,\"insn\":%ld,\"kind\":\"%s\",\"spec\":\"%s\"", base(object), base(btf), prog,
	       relo, insn, kind, spec);
	if (old)
		printf(",\"old\":%s", old);
	if (new)
		printf(",\"new\":%s", new);
	printf(",\"result\":\"%s\"}\n", result);
	pending = 0;
	poisoned = 0;
}

// Of a poisoned LD_IMM64 libbpf reports the second slot first: the line waits for what comes next.
static void flush(void)
{
	if (poisoned)
		line(NULL, NULL, "poison");
}

// The messages of libbpf 1.6 to 1.8 for one relocation, in this order:
//   prog 'P': relo #N: <KIND> SPEC
//   prog 'P': relo #N: matching candidate #M <KIND> SPEC          any number of times
//   prog 'P': relo #N: patched insn #I (CLASS) [off|imm|imm64] OLD -> NEW     or
//   prog 'P': relo #N: substituting insn #I w/ invalid insn           twice for LD_IMM64, its second slot first
static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[4096], p[256], k[32], cls[64], *s, *arrow;
	long r;

	vsnprintf(text, sizeof(text), fmt, ap);
	if (verbose)
		fputs(text, stderr);
	s = loading ? NULL : strstr(text, "prog '");
	if (!s || sscanf(s, "prog '%255[^']': relo #%ld: ", p, &r) != 2)
		return 0;
	s = strstr(s, ": relo #");
	s = strstr(s + 2, ": ") + 2;
	s[strcspn(s, "\n")] = 0;
	if (*s == '<' && sscanf(s, "<%31[^>]>", k) == 1) {
		flush();
		strcpy(prog, p);
		strcpy(kind, k);
		snprintf(spec, sizeof(spec), "%s", strchr(s, '>') + 2);
		relo = r;
		insn = -1;
		pending = 1;
		return 0;
	}
	if (sscanf(s, "substituting insn #%ld", &insn) == 1) {
		poisoned = pending;
		return 0;
	}
	flush();
	if (sscanf(s, "patched insn #%ld (%63[^)])", &insn, cls) == 2 && (arrow = strstr(s, " -> "))) {
		char old[64], new[64];
		unsigned a, b;
		char *o;

		// A second line of the same relocation tells a changed access size.
		if (!pending)
			return 0;
		*arrow = 0;
		o = strrchr(s, ' ') + 1;
		snprintf(old, sizeof(old), "%s", o);
		sscanf(arrow + 4, "%63s", new);
		if (sscanf(o, "%u", &a) == 1 && sscanf(new, "%u", &b) == 1)
			line(old, new, "ok");
	}
	return 0;
}

static int load(void)
{
	struct bpf_object *o;
	struct bpf_program *p, *q;
	int bad = 0;
	struct bpf_object *list = bpf_object__open_file(object, NULL);

	if (!list) {
		printf("%s: does not open: %s\n", base(object), strerror(errno));
		return 1;
	}
	// All together first: programs in a prog array need each other.
	if (!bpf_object__load(list)) {
		bpf_object__for_each_program(p, list)
			printf("%s: %s: %s\n", base(object), bpf_program__name(p),
			       bpf_program__autoload(p) ? "loads" : "is switched off");
		bpf_object__close(list);
		return 0;
	}
	bpf_object__close(list);
	list = bpf_object__open_file(object, NULL);
	bpf_object__for_each_program(p, list) {
		const char *name = bpf_program__name(p);
		int err;

		o = bpf_object__open_file(object, NULL);
		bpf_object__for_each_program(q, o)
			bpf_program__set_autoload(q, !strcmp(bpf_program__name(q), name));
		err = bpf_object__load(o);
		printf("%s: %s: %s\n", base(object), name, err ? strerror(-err) : "loads");
		bad |= err != 0;
		bpf_object__close(o);
	}
	bpf_object__close(list);
	return bad;
}

static void *global(struct bpf_object *o, const char *name, __u32 *size)
{
	const struct btf *b = bpf_object__btf(o);
	const struct btf_type *sec = btf__type_by_id(b, btf__find_by_name_kind(b, ".bss", BTF_KIND_DATASEC));
	const struct btf_var_secinfo *v = btf_var_secinfos(sec);
	struct bpf_map *m;
	size_t len;

	for (int i = 0; i < btf_vlen(sec); i++) {
		if (strcmp(btf__name_by_offset(b, btf__type_by_id(b, v[i].type)->name_off), name))
			continue;
		bpf_object__for_each_map(m, o) {
			const char *n = bpf_map__name(m);

			if (strlen(n) >= 4 && !strcmp(n + strlen(n) - 4, ".bss")) {
				*size = v[i].size;
				return (char *)bpf_map__initial_value(m, &len) + v[i].offset;
			}
		}
	}
	return NULL;
}

static void run_one(struct bpf_object *o, struct bpf_program *p, int alone, int err)
{
	LIBBPF_OPTS(bpf_test_run_opts, ro);
	__u32 in_size, out_size;
	unsigned char *in;
	unsigned long long *out;
	int n;

	printf("{\"object\":\"%s\",\"btf\":\"%s\",\"program\":\"%s\"", base(object), base(btf), bpf_program__name(p));
	if (alone)
		printf(",\"alone\":true");
	if (err) {
		printf(",\"load\":\"%s\"}\n", strerror(-err));
		return;
	}
	in = global(o, "in", &in_size);
	out = global(o, "out", &out_size);
	for (__u32 i = 0; in && i < in_size; i++)
		in[i] = i * 7 + 1;
	memset(out, 0, out_size);
	err = bpf_prog_test_run_opts(bpf_program__fd(p), &ro);
	if (err) {
		printf(",\"run\":\"%s\"}\n", strerror(-err));
		return;
	}
	printf(",\"ret\":%u,\"out\":[", ro.retval);
	for (n = out_size / 8; n && !out[n - 1]; n--)
		;
	for (int i = 0; i < n; i++)
		printf("%s\"0x%llx\"", i ? "," : "", out[i]);
	printf("]}\n");
}

static int run(const struct bpf_object_open_opts *opts)
{
	struct bpf_object *all = bpf_object__open_file(object, opts), *o;
	struct bpf_program *p, *q;
	int err;

	if (!all)
		return 1;
	if (!bpf_object__load(all)) {
		bpf_object__for_each_program(p, all)
			run_one(all, p, 0, 0);
		bpf_object__close(all);
		return 0;
	}
	bpf_object__close(all);
	all = bpf_object__open_file(object, opts);
	bpf_object__for_each_program(p, all) {
		o = bpf_object__open_file(object, opts);
		bpf_object__for_each_program(q, o)
			bpf_program__set_autoload(q, !strcmp(bpf_program__name(q), bpf_program__name(p)));
		err = bpf_object__load(o);
		run_one(o, bpf_object__find_program_by_name(o, bpf_program__name(p)), 1, err);
		bpf_object__close(o);
	}
	bpf_object__close(all);
	return 0;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *o;
	int err;

	verbose = getenv("VERBOSE") != NULL;
	libbpf_set_print(print);
	if (argc == 3 && !strcmp(argv[1], "--load")) {
		object = argv[2];
		loading = 1;
		return load();
	}
	if (argc != 4) {
		fprintf(stderr, "usage: libbpf-core --relo OBJECT BTF | --run OBJECT BTF | --load OBJECT\n");
		return 2;
	}
	object = argv[2];
	btf = argv[3];
	opts.btf_custom_path = btf;
	if (!strcmp(argv[1], "--run")) {
		loading = 1;
		return run(&opts);
	}
	o = bpf_object__open_file(object, &opts);
	if (!o) {
		fprintf(stderr, "%s: cannot open: %s\n", object, strerror(errno));
		return 1;
	}
	err = bpf_object__prepare(o);
	flush();
	if (err && pending)
		line(NULL, NULL, "error");
	else if (err)	/* before the record could be told */
		printf("{\"object\":\"%s\",\"btf\":\"%s\",\"result\":\"error\"}\n", base(object), base(btf));
	bpf_object__close(o);
	return 0;
}
