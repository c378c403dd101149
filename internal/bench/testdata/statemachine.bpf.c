/* A branchy state machine: a scanner of numbers, names, strings and comments over bytes mapped to characters. */
#include "bench.h"

enum { START, NUMBER, NAME, STRING, ESCAPE, COMMENT };

PROGRAM(statemachine)
{
	u64 numbers = 0, names = 0, strings = 0, comments = 0, errors = 0;
	u32 state = START;

	for (u32 i = 0; i < 16384; i++) {
		u8 c = mem[i] & 0x7f;

		switch (state) {
		case START:
			if (c >= '0' && c <= '9') {
				state = NUMBER;
				numbers++;
			} else if ((c | 32) >= 'a' && (c | 32) <= 'z') {
				state = NAME;
				names++;
			} else if (c == '"') {
				state = STRING;
				strings++;
			} else if (c == '#') {
				state = COMMENT;
				comments++;
			} else if (c < ' ') {
				errors++;
			}
			break;
		case NUMBER:
			if (c < '0' || c > '9')
				state = c == '.' ? NUMBER : START;
			break;
		case NAME:
			if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '_')
				state = START;
			break;
		case STRING:
			if (c == '\\')
				state = ESCAPE;
			else if ((c & 15) == 2)
				state = START;
			break;
		case ESCAPE:
			state = STRING;
			break;
		case COMMENT:
			if ((c & 15) == 10)
				state = START;
			break;
		}
	}
	return numbers + (names << 12) + (strings << 24) + (comments << 36) + (errors << 48);
}
