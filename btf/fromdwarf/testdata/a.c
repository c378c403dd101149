/* What BTF of DWARF has to describe. `make -C btf/fromdwarf/testdata` builds objects and, with pahole, the BTF to compare with. */
#ifdef __clang__
#define DECL_TAG(x) __attribute__((btf_decl_tag(x)))
#define TYPE_TAG(x) __attribute__((btf_type_tag(x)))
#else
#define DECL_TAG(x)
#define TYPE_TAG(x)
#endif

struct fwd;
union ufwd;
enum colour { RED, BLUE = -3 };
enum big { HUGE = 1ull << 40 };

struct bits {
	unsigned a : 3;
	int b : 7;
	long long c : 40;
	_Bool d : 1;
	char e;
};

typedef struct node {
	struct node *next;
	struct fwd *f;
	union ufwd *u;
	int m[3][4];
	const volatile char *restrict p;
	double x;
	float y;
	long double z;
	int (*cb)(int, const char *, ...);
	struct {
		int in;
		union {
			int q;
			float r;
		};
	};
	int flex[];
} node_t;

struct tagged {
	int first;
	int second DECL_TAG("second");
	int TYPE_TAG("user") TYPE_TAG("rcu") * p;
} DECL_TAG("whole");

static int helper(node_t *n, enum colour c) { return n->m[0][1] + c; }
int visible(struct bits *b, enum big g, node_t n[2]) { return b->a + (int)g + helper(n, RED); }
int tagged_fn(struct tagged *t DECL_TAG("arg")) { return *t->p; }
void nothing(void) {}
int variable_arguments(const char *fmt, ...) { return *fmt; }

__int128 wide = 7;
int global = 3;
int zeroed;
static int local_var;
int per_cpu __attribute__((section(".data..percpu"))) = 1;
int use(void) { return ++local_var; }
