/* Lists and sets of BTF ids as a kernel has them. lists.o is made by `make -C btf/ids/testdata`. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define LABEL(scope, name) asm(".pushsection .BTF_ids,\"a\"; ." #scope " " #name "; " #name ": .popsection");
#define ID_(symbol, word) asm(".pushsection .BTF_ids,\"a\"; .local " #symbol "; .type " #symbol ", STT_OBJECT; .size " #symbol ", 4; " \
			      #symbol ": .zero 4; " word " .popsection");
#define ID__(symbol, word) ID_(symbol, word)
#define ID(kind, name) ID__(PASTE(PASTE(__BTF_ID__##kind##__##name##__, __COUNTER__), __LINE__), "")
#define ID_FLAGS(kind, name, flags) ID__(PASTE(PASTE(__BTF_ID__##kind##__##name##__, __COUNTER__), __LINE__), ".long " #flags ";")
#define UNUSED asm(".pushsection .BTF_ids,\"a\"; .zero 4; .popsection");
#define SET_START(name) LABEL(local, name) asm(".pushsection .BTF_ids,\"a\"; .local __BTF_ID__set__" #name "; __BTF_ID__set__" #name ": .zero 4; .popsection");
#define SET_END(name) asm(".pushsection .BTF_ids,\"a\"; .size __BTF_ID__set__" #name ", .-" #name "; .popsection");
#define SET8_START(name, flags) LABEL(local, name) asm(".pushsection .BTF_ids,\"a\"; .local __BTF_ID__set8__" #name "; __BTF_ID__set8__" #name ": .zero 4; .long " #flags "; .popsection");
#define SET8_END(name) asm(".pushsection .BTF_ids,\"a\"; .size __BTF_ID__set8__" #name ", .-" #name "; .popsection");

struct packet { int len; };
union word { int i; float f; };
typedef struct packet packet_t;
struct both { int a; };
typedef int both;

int zeta(struct packet *p) { return p->len; }
int alpha(union word *w) { return w->i; }
int mid__dle(packet_t *p, both b) { return p->len + b; }
long last(struct both *x) { return x->a; }

LABEL(globl, all_types)
ID(struct, packet)
UNUSED
ID(union, word)
ID(typedef, packet_t)
ID(func, mid__dle)
ID(struct, nowhere)

SET_START(plain_set)
ID(func, zeta)
ID(func, alpha)
ID(func, mid__dle)
SET_END(plain_set)

SET8_START(kfuncs, 1)
ID_FLAGS(func, zeta, (1 << 0) | (1 << 2))
ID_FLAGS(func, last, (1 << 1))
ID_FLAGS(func, alpha, (1 << 5))
SET8_END(kfuncs)
