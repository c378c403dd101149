// mapdump OBJECT: loads the maps of an object (no programs), fills them, and has bpftool dump them: as plain text and as JSON. The
// output is btf's and report's idea of bpftool (testdata/mapdump.*). Needs root; nothing is pinned, nothing stays.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void dump(struct bpf_object *obj, const char *how, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char cmd[128];

	if (!map || bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &len))
		exit(2);
	snprintf(cmd, sizeof(cmd), "bpftool %s map dump id %u", how, info.id);
	printf("# %s %s\n", *how ? how : "plain", name);
	fflush(stdout);
	if (system(cmd))
		exit(3);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct bpf_object *obj = bpf_object__open(argv[1]);
	struct bpf_map *data, *map;
	static unsigned char value[4096], image[4096];
	static const char *maps[] = {"samples", "ports", "percpu", ".data"};
	int zero = 0;

	if (!obj || bpf_object__load(obj))
		return 1;
	// Element 0 is the variable first, element 1 bytes that count, element 2 stays zero.
	map = bpf_object__find_map_by_name(obj, "samples");
	data = bpf_object__find_map_by_name(obj, ".data");
	if (bpf_map_lookup_elem(bpf_map__fd(data), &zero, image))
		return 1;
	bpf_map_update_elem(bpf_map__fd(map), &zero, image, 0);
	for (unsigned i = 0; i < bpf_map__value_size(map); i++)
		value[i] = i * 7 + 1;
	bpf_map_update_elem(bpf_map__fd(map), &(int){1}, value, 0);
	map = bpf_object__find_map_by_name(obj, "ports");
	bpf_map_update_elem(bpf_map__fd(map), "\x50\0eth0\0", &(int){5}, 0);
	map = bpf_object__find_map_by_name(obj, "percpu");
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		memcpy(value + i * 8, &(int){0x01020300 + i}, 4);
	bpf_map_update_elem(bpf_map__fd(map), &zero, value, 0);
	for (unsigned i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		dump(obj, "", maps[i]);
		dump(obj, "-j", maps[i]);
		dump(obj, "-p", maps[i]);
	}
	return 0;
}
