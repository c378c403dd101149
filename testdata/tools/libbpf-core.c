// SPDX-License-Identifier: Apache-2.0
//
// libbpf-core OBJECT BTF: prints, one JSON object per line, what the installed libbpf makes of every CO-RE relocation
// of OBJECT against BTF: {object, btf, program, insn, kind, old, new, result}, as `bpfrun conformance core` reads it.
// libbpf stops at the first hard error, which is the last line then ({.., "result":"error"}).
//
// libbpf-core --load OBJECT: loads every program into the running kernel (nothing is attached), prints the verdict of each.
//
// Needs bpf(2), so root, and libbpf >= 1.6 (bpf_object__prepare). Build: cc -O2 -o libbpf-core libbpf-core.c -lbpf -lelf -lz
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/libbpf.h>

static const char *object, *btf;
static char prog[256], kind[32], spec[1024];
static long insn = -1, relo = -1;
static int verbose, loading, pending;

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
}

// The messages of libbpf 1.6 to 1.8 for one relocation, in this order:
//   prog 'P': relo #N: <KIND> SPEC
//   prog 'P': relo #N: matching candidate #M <KIND> SPEC          any number of times
//   prog 'P': relo #N: patched insn #I (CLASS) [off|imm|imm64] OLD -> NEW     or
//   prog 'P': relo #N: substituting insn #I w/ invalid insn
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
		strcpy(prog, p);
		strcpy(kind, k);
		snprintf(spec, sizeof(spec), "%s", strchr(s, '>') + 2);
		relo = r;
		insn = -1;
		pending = 1;
		return 0;
	}
	if (sscanf(s, "substituting insn #%ld", &insn) == 1) {
		if (pending)
			line(NULL, NULL, "poison");
		return 0;
	}
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
			printf("%s: %s: loads\n", base(object), bpf_program__name(p));
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
	if (argc != 3) {
		fprintf(stderr, "usage: libbpf-core OBJECT BTF | --load OBJECT\n");
		return 2;
	}
	object = argv[1];
	btf = argv[2];
	opts.btf_custom_path = btf;
	o = bpf_object__open_file(object, &opts);
	if (!o) {
		fprintf(stderr, "%s: cannot open: %s\n", object, strerror(errno));
		return 1;
	}
	err = bpf_object__prepare(o);
	if (err && pending)
		line(NULL, NULL, "error");
	else if (err)
		fprintf(stderr, "%s: %s: prepare: %s\n", object, btf, strerror(-err));
	bpf_object__close(o);
	return 0;
}
