/* Times libbpf's own work: libbpf parse BTF N, or libbpf relocate BTF N OBJECT.
 *
 * bpf(2) is answered by this program at once and with success, so that no figure holds any of the kernel's work
 * and nothing is loaded. Prints the best wall time and the best processor time of N repetitions in nanoseconds, and the
 * peak of resident memory in KiB. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "nobpf.h"
#include "timing.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* getrusage's would be the parent's. */
static long peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmHWM: %ld", &kib) != 1)
		;
	return kib;
}

static const unsigned char *btf_data, *object_data;
static size_t btf_size, object_size;
static const char *btf_path;

static void parse(void)
{
	struct btf *btf = btf__new(btf_data, btf_size);

	if (!btf)
		exit(3);
	btf__free(btf);
}

static void relocate(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);
	struct bpf_object *obj = bpf_object__open_mem(object_data, object_size, &opts);

	if (!obj || bpf_object__prepare(obj))
		exit(4);
	bpf_object__close(obj);
}

int main(int argc, char **argv)
{
	double wall = 1e18, cpu = 1e18;
	void (*once)(void) = parse;

	if (argc < 4)
		return 2;
	libbpf_set_print(quiet);
	btf_path = argv[2];
	if (!strcmp(argv[1], "relocate")) {
		once = relocate;
		object_data = read_file(argv[4], &object_size);
	} else {
		btf_data = read_file(btf_path, &btf_size);
	}
	for (int n = atoi(argv[3]); n > 0; n--) {
		double w = now_ns(), c = cpu_ns();

		once();
		w = now_ns() - w;
		c = cpu_ns() - c;
		if (w < wall)
			wall = w;
		if (c < cpu)
			cpu = c;
	}
	printf("%.0f %.0f %ld\n", wall, cpu, peak_kib());
	return 0;
}
