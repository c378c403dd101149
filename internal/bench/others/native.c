/* Runs a benchmark program compiled natively: native INPUT. Built with -DENTRY=name and the program's source.
 * Prints the result of the first run and the best time of a run, of 40 batches of at least 3 ms. */
#include <stdio.h>
#include <stdlib.h>
#include "timing.h"

unsigned long long ENTRY(unsigned char *mem, unsigned long long len);

static unsigned char *mem;
static size_t len;

static unsigned long long once(void) { return ENTRY(mem, len); }

int main(int argc, char **argv)
{
	mem = read_file(argv[1], &len);
	return measure(once);
}
