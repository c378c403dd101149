//go:build ignore

// Prints what libbpf makes of every CO-RE relocation of an object for a target
// BTF, one JSON object per line (the form of `bpfrun conformance core`).
//
//   core_libbpf [-o OBJECT-NAME] [-b BTF-NAME] [-l] OBJECT BTF
//
// -o and -b are the names to print (default: the arguments), -l prints libbpf's
// whole debug log to stderr, -v libbpf's version and nothing else. The BTF must be uncompressed (raw, or an ELF file).
//
// The object is opened with btf_custom_path and prepared (libbpf 1.6 and later;
// loaded with an older one). bpf(2) is answered by nobpf.h, so that it needs no
// permission and loads nothing. What libbpf did is read from its debug log:
//
//   {"object","btf","program","relo","insn","kind","old","new","result",
//    "mem_size"?,"local","target"?,"candidates"}
//
// Numbers are 64 bits unsigned; 32-bit immediates are sign-extended to that.
// program is the function (a subprogram too), relo the number of the record in
// its section of .BTF.ext, insn the index inside of the function. Of results
// "poison" and "error", old and new are null, and insn is null where libbpf does
// not tell it. libbpf stops at the first error; later records are then missing.
// A last line {"object","btf","status"} holds the return value of libbpf.
//
// Build, with nobpf.h beside it: cc -O2 -o core_libbpf core_libbpf.c -lbpf -lelf -lz

#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include "nobpf.h"

// Absent before libbpf 1.6.
int bpf_object__prepare(struct bpf_object *obj) __attribute__((weak));

enum result { RESULT_NONE, RESULT_OK, RESULT_POISON, RESULT_ERROR };

struct record {
	bool open;
	char program[256];
	int relo;
	int insn; // -1: not known
	char kind[32];
	char local[1024];
	char target[1024];
	int candidates;
	bool has_values;
	uint64_t old_value, new_value;
	unsigned old_size, new_size;
	enum result result;
	char error[1024];
};

static const char *object_name, *btf_name;
static bool show_log;
static struct record cur;

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_field(const char *name, const char *value)
{
	printf(",\"%s\":", name);
	print_string(value);
}

static void print_head(void)
{
	printf("{\"object\":");
	print_string(object_name);
	print_field("btf", btf_name);
}

static void flush_record(void)
{
	static const char *const words[] = {"none", "ok", "poison", "error"};

	if (!cur.open)
		return;
	cur.open = false;
	print_head();
	print_field("program", cur.program);
	printf(",\"relo\":%d", cur.relo);
	if (cur.insn >= 0)
		printf(",\"insn\":%d", cur.insn);
	else
		printf(",\"insn\":null");
	print_field("kind", cur.kind);
	if (cur.result == RESULT_OK && cur.has_values)
		printf(",\"old\":%" PRIu64 ",\"new\":%" PRIu64, cur.old_value, cur.new_value);
	else
		printf(",\"old\":null,\"new\":null");
	print_field("result", words[cur.result]);
	if (cur.old_size != cur.new_size)
		printf(",\"mem_size\":\"%u>%u\"", cur.old_size, cur.new_size);
	print_field("local", cur.local);
	if (cur.target[0])
		print_field("target", cur.target);
	printf(",\"candidates\":%d", cur.candidates);
	if (cur.error[0])
		print_field("error", cur.error);
	printf("}\n");
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

// Opens the record (program, relo) unless it is the current one.
static void open_record(const char *program, size_t len, int relo)
{
	if (cur.open && cur.relo == relo && strlen(cur.program) == len && !strncmp(cur.program, program, len))
		return;
	flush_record();
	memset(&cur, 0, sizeof(cur));
	cur.open = true;
	cur.insn = -1;
	cur.relo = relo;
	copy(cur.program, sizeof(cur.program), program, len);
}

// One message behind "prog 'NAME': relo #N: ".
static void read_message(const char *msg)
{
	unsigned long long old_value, new_value;
	char field[16], class[24];
	int insn, num, skip = 0;

	if (msg[0] == '<') {
		const char *end = strchr(msg, '>');

		if (end)
			copy(cur.kind, sizeof(cur.kind), msg + 1, end - msg - 1);
		copy(cur.local, sizeof(cur.local), msg, strlen(msg));
	} else if (sscanf(msg, "matching candidate #%d %n", &num, &skip) == 1 && skip) {
		if (!cur.target[0])
			copy(cur.target, sizeof(cur.target), msg + skip, strlen(msg + skip));
		cur.candidates++;
	} else if (!strncmp(msg, "non-matching candidate #", 24)) {
		cur.candidates++;
	} else if (sscanf(msg, "patched insn #%d (%23[^)]) %15s %llu -> %llu", &insn, class, field, &old_value, &new_value) == 5) {
		cur.insn = insn;
		if (!strcmp(field, "mem_sz")) {
			cur.old_size = old_value;
			cur.new_size = new_value;
			return;
		}
		cur.result = RESULT_OK;
		cur.has_values = true;
		cur.old_value = old_value;
		cur.new_value = new_value;
		// 32-bit immediates are printed signed, unsigned or with all 64
		// bits of the new value, as the version likes.
		if (!strcmp(field, "imm")) {
			cur.old_value = (int64_t)(int32_t)old_value;
			cur.new_value = (int64_t)(int32_t)new_value;
		}
	} else if (sscanf(msg, "substituting insn #%d w/", &insn) == 1) {
		cur.result = RESULT_POISON;
		cur.insn = insn; // the first slot is reported last
	} else if (!strncmp(msg, "failed to relocate", 18)) {
		cur.result = RESULT_ERROR;
	} else if (sscanf(msg, "failed to patch insn #%d", &insn) == 1) {
		cur.result = RESULT_ERROR;
		cur.insn = insn;
	} else if (strncmp(msg, "no matching targets", 19)) {
		copy(cur.error, sizeof(cur.error), msg, strlen(msg));
	}
}

static int read_log(enum libbpf_print_level level, const char *fmt, va_list args)
{
	static char line[1 << 16];
	const char *name, *end;
	int relo, skip = 0;
	size_t len;

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	if (show_log)
		fputs(line, stderr);
	len = strlen(line);
	if (len && line[len - 1] == '\n')
		line[len - 1] = 0;
	name = strstr(line, "prog '");
	if (!name)
		return 0;
	name += 6;
	end = strstr(name, "': relo #");
	if (!end || sscanf(end, "': relo #%d: %n", &relo, &skip) != 1 || !skip)
		return 0;
	// Data and call relocations use the same prefix after all of CO-RE.
	if (!strncmp(end + skip, "insn #", 6) && !strstr(end + skip, "(LD"))
		return 0;
	if (!strncmp(end + skip, "poisoning", 9))
		return 0;
	open_record(name, end - name, relo);
	read_message(end + skip);
	return 0;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *obj;
	int opt, err;

	while ((opt = getopt(argc, argv, "o:b:lv")) != -1) {
		switch (opt) {
		case 'o':
			object_name = optarg;
			break;
		case 'b':
			btf_name = optarg;
			break;
		case 'l':
			show_log = true;
			break;
		case 'v':
			printf("%s\n", libbpf_version_string());
			return 0;
		default:
			return 2;
		}
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: core_libbpf [-o OBJECT-NAME] [-b BTF-NAME] [-l] OBJECT BTF\n");
		return 2;
	}
	if (!object_name)
		object_name = argv[optind];
	if (!btf_name)
		btf_name = argv[optind + 1];
	opts.btf_custom_path = argv[optind + 1];
	libbpf_set_print(read_log);
	obj = bpf_object__open_file(argv[optind], &opts);
	if (obj)
		err = bpf_object__prepare ? bpf_object__prepare(obj) : bpf_object__load(obj);
	else
		err = -errno;
	flush_record();
	print_head();
	printf(",\"status\":%d}\n", err);
	bpf_object__close(obj);
	return 0;
}
