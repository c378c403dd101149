// Functions of the same names as in opt.c, some with other prototypes.
extern int sink(const void *, long);
#define noinline static __attribute__((noinline))
noinline int differs(int *a) { return sink(a, 0) + 1; }
noinline int inlined(int *a) { return sink(a, 0) + 4; }
noinline int same(int a, char *b) { return sink(b, a) + 2; }
int other(char *t, int x) { return differs(&x) + inlined(&x) + same(x, t); }
