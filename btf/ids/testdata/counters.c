/* A module with kfuncs as a file has them: sets with flags, and calls that register one. counters.ko is made by `make -C btf/ids/testdata`; it is not
 * linked against a kernel and loads nowhere. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define ID__(symbol, flags) asm(".pushsection .BTF_ids,\"a\"; .local " #symbol "; .type " #symbol ", STT_OBJECT; .size " #symbol ", 4; " #symbol ": .zero 4; .long " #flags "; .popsection");
#define ID_(symbol, flags) ID__(symbol, flags)
#define KFUNC(name, flags) ID_(PASTE(PASTE(__BTF_ID__func__##name##__, __COUNTER__), __LINE__), flags)
#define KFUNCS_START(name) extern int name[]; asm(".pushsection .BTF_ids,\"a\"; .local " #name "; " #name ": .local __BTF_ID__set8__" #name "; __BTF_ID__set8__" #name ": .zero 4; .long 1; .popsection");
#define KFUNCS_END(name) asm(".pushsection .BTF_ids,\"a\"; .size __BTF_ID__set8__" #name ", .-" #name "; .popsection");

struct bpfrun_counter {
	unsigned long long value;
	unsigned int users;
};

static struct bpfrun_counter counter;

struct bpfrun_counter *bpfrun_counter_get(unsigned int cpu) { return cpu ? 0 : &counter; }
void bpfrun_counter_put(struct bpfrun_counter *c) { c->users--; }
unsigned long long bpfrun_counter_add(struct bpfrun_counter *c, unsigned long long n) { return c->value += n; }
int bpfrun_counter_wait(struct bpfrun_counter *c) { return c->users != 0; }
int bpfrun_counter_peek(struct bpfrun_counter *c) { return c->users; }

KFUNCS_START(counter_kfuncs)
KFUNC(bpfrun_counter_wait, 32)
KFUNC(bpfrun_counter_get, (1 | 4))
KFUNC(bpfrun_counter_put, 2)
KFUNC(bpfrun_counter_add, 0)
KFUNCS_END(counter_kfuncs)

struct btf_kfunc_id_set { void *owner; int *set; };
static const struct btf_kfunc_id_set counters = { &counter, counter_kfuncs };

int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *set);

__attribute__((section(".init.text"))) int init_module(void)
{
	int err = register_btf_kfunc_id_set(31 /* syscall */, &counters);

	return err ? err : register_btf_kfunc_id_set(26 /* tracing */, &counters);
}
