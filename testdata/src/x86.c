// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// x86: an ELF object of another machine: to be refused in words.
int add(int a, int b)
{
	return a + b;
}
