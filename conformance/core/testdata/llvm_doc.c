// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Relocation records of every kind, with the names, types and order of the examples in LLVM's document on BPF relocations (Linux
// Documentation/bpf/llvm_reloc.rst), whose listings the records must equal. Compiled by clang 22:
//   clang -target bpfel -mcpu=v4 -O2 -g -c llvm_doc.c -o llvm_doc.o && llvm-strip -g llvm_doc.o
struct foo {
	int a;
	int b;
	unsigned c : 15;
} __attribute__((preserve_access_index));

enum bar { U, V };

void alpha(struct foo *s, volatile unsigned long *g)
{
	*g = s->a;
	s->a = 1;
}

void bravo(struct foo *s, volatile unsigned long *g)
{
	*g = __builtin_preserve_field_info(s->b, 0);
	*g = __builtin_preserve_field_info(s->b, 1);
	*g = __builtin_preserve_field_info(s->b, 2);
	*g = __builtin_preserve_field_info(s->b, 3);
	*g = __builtin_preserve_field_info(s->c, 4);
	*g = __builtin_preserve_field_info(s->c, 5);
}

void charlie(struct foo *s, volatile unsigned long *g)
{
	*g = __builtin_preserve_type_info(*s, 0);
	*g = __builtin_preserve_type_info(*s, 1);
	*g = __builtin_preserve_type_info(*s, 2);
	*g = __builtin_btf_type_id(*s, 0);
	*g = __builtin_btf_type_id(*s, 1);
}

void delta(struct foo *s, volatile unsigned long *g)
{
	*g = __builtin_preserve_enum_value(*(enum bar *)U, 0);
	*g = __builtin_preserve_enum_value(*(enum bar *)V, 1);
}
