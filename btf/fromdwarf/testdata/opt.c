// Functions that an optimizing compiler calls in another way than their prototypes tell.
typedef struct { long a; long b; } pair;
struct big { long a, b, c; };
struct four { int a, b, c, d; };
struct __attribute__((packed)) packed { char c; int i; };
extern int sink(const void *, long);
extern int eight(long, long, long, long, long, long, long, long);
#define noinline static __attribute__((noinline))
noinline int second(pair p, int x) { return sink(0, p.b) + x; }
noinline int first(pair p, int x) { return sink(0, p.a) - x; }
noinline int both(pair p, int unused, int x) { return sink(0, p.a + p.b) * x; }
noinline int neither(pair p, int x) { return sink(0, x); }
noinline int ints(struct four f, int x) { return sink(0, f.a + f.d) + x; }
noinline int memory(struct big b, int unused, int x) { return sink(0, b.b) + x; }
noinline int middle(int a, int unused, int c, void *p) { return sink(p, a - c); }
noinline int constant(int a, int k, int c) { return sink(0, a * k - c); }
noinline int stack(long a, long b, long c, long d, long e, long f, long u, long g, long h) { return eight(a, b, c, d, e, f, g, h) + 1; }
noinline long reference(const long *p, int x) { return sink(0, *p) + x; }
noinline int recursive(int n, int k) { return n <= 0 ? sink(0, k) : recursive(n - 1, k) + recursive(n - 2, k); }
noinline int differs(int a, long b) { return sink(0, a) + (int)b; }
static inline __attribute__((always_inline)) int inlined(int a, int b) { return sink(0, a) - b; }
noinline int same(int a, const char *b) { return sink(b, a) + 1; }
int packed_on_stack(int a, int b, int c, int d, int e, int f, int g, int h, struct packed p) { return sink(&p, a + b + c + d + e + f + g + h); }
int unused(int a, int b) { return sink(0, b) + 2; }
int by_value(pair p, int x) { return sink(&p, p.a + p.b) + x; }
int variadic(const char *f, ...) { return sink(f, 0) + 1; }
int many(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return eight(a, b, c, d, e, f, g, h) + i; }
int entry(pair *p, struct big *b, struct four *f, int x, struct packed k)
{
	int r = second(*p, x) + first(*p, x) + both(*p, 1, x) + neither(*p, x) + ints(*f, x) + memory(*b, 3, x) + middle(x, 2, 5, p);

	r += constant(x, 7, 9) + constant(x + 1, 7, 8) + stack(1, 2, x, 4, 5, 6, 7, x, 9) + reference(&p->a, x) + recursive(x, 9);
	r += differs(x, x) + differs(1, 3) + inlined(x, 2) + same(x, "x") + packed_on_stack(1, 2, 3, 4, x, 6, 7, 8, k);
	return r + second(*p, 2) + both(*p, 2, 3) + middle(1, 2, x, b) + memory(*b, 5, 1);
}
