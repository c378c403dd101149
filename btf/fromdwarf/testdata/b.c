/* A second unit, which knows what the first one declares. */
struct fwd {
	int real;
	struct node *back;
};
union ufwd {
	long l;
	char c[8];
};
int other(struct fwd *f, union ufwd *u) { return f->real + u->c[1]; }
