// Package jit runs programs as native code with the same checks as the interpreter. [New] returns an [Engine] for a
// Memory, for use with vm.Thread.SetEngine.
//
// It decides when native code runs, and manages what code shares with Go, and the code's pages. Package plan decides
// what code does, independent of the processor; jit/amd64 and jit/arm64 encode it. It does not know helpers, maps or
// program types.
//
// # The contract between plan, backend and engine
//
// The interpreter alone decides faults. Generated code tests whether an instruction is certainly valid. If a test
// fails, code leaves before that instruction with all registers unchanged (plan.Interpret), the interpreter executes
// that one instruction (vm.Thread.Access, if it accesses memory), and the engine continues with native code at the next
// slot with plan.FlagEntry. Tests may therefore be conservative, and rare cases may be left out.
//
// A backend is two functions.
//
//	Compile(p *plan.Program, t plan.Target, out *plan.Code) error
//	Enter(text, state uintptr)
//
// Compile runs plan.Emission.Emit, which iterates over the instructions and requests one piece of code after another
// from a plan.Backend. A backend is driven by one table indexed by decode.Op; a test checks that no op is missing. It
// must be fast (some 40 ns per instruction) and allocate only the output. Enter is assembly: it saves the registers
// that Go's ABI0 preserves, calls text, and returns.
//
// # Memory
//
// One mapping holds the plan.State, in a read-write page of its own, and after it the code, in pages that are first
// writable and then executable, never both. Offsets in State are those of unsafe.Offsetof.
//
// # Registers
//
// r0 to r9 are in host registers of the backend's choice for the whole program, so that every slot with FlagEntry can
// be entered: the code at Text[0] loads them from State.Regs and jumps to State.Entry. r10 is never in a register: a
// register holds Frame.Host of the running function, and where r10 is needed as a value it is loaded from Frame.FP.
// Further registers hold State.Room and State.Data, and some are scratch. On exit code stores r0 to r9 and Room (r10 is
// the engine's), sets State.Exit and Top, each with one 64-bit store because Go reads them at once, and restores the
// stack pointer from State.SP.
//
// On arm64 code must not use R18 (the platform's) and R28 (g, which a signal handler reads from there). On amd64 g is
// in thread-local storage, so all registers may be used, SP only for State.Stack. Signals during generated code are
// handled on the signal stack; the runtime does not know the pc, so it neither preempts nor unwinds there. Code runs
// for at most one slice of the budget; then the garbage collector gets its turn.
//
// # Accesses
//
// With plan.CheckNone the access is [Frame.Host + StackOff] without any test: the engine does not run threads whose
// stack is not plain memory (vm.Thread.Tracks, watches).
//
// With CheckRange, o = value of Base + Lo - Target.Base (64 bits, wrapping) must be below State.Limit, and the shadow
// of the bytes o to o+Hi-Lo-1, at Data + ShadowDelta + o>>3, must allow the access: a class of 0; for ranges without
// FlagRangeStore also mem.ClassStoreTrap; and in the last granule also n = 1 to 7 (plus ClassStoreTrap for loads) if no
// byte from n on is accessed. First test quickly whether all classes are 0, then exactly in out-of-line code, and leave
// with Interpret only if that fails. A range is at most 57 bytes, 8 granules at any alignment, and shadow up to 64
// bytes after Limit may be read. Atomic, acquire and release accesses must be aligned to their size, else Interpret.
//
// A backend may use the range's plan.Cell for a faster test.
//
// With CheckDone nothing is tested. The access itself is to Data + value of Base + Off - Target.Base. Only one thread
// uses a memory, so atomics need neither a bus lock nor barriers.
//
// # Calls
//
// State.Stack is the stack of generated code: Text[0] keeps the goroutine's stack pointer in State.SP and points to State.Frame(0), in programs
// with calls to State.Top, and the code that leaves stores where it is in State.Top. The next frame is at the next lower address, and may be read and filled in ahead.
//
// A bpf-to-bpf call (KindCall): charge Taken and look at Room; let f be the next frame; Interpret if f.Host is 0; store what of r6 to r9
// is in Saves in f.Saved (and with SavesHost f.Host becomes what CheckNone counts from), the slot after the call in f.Ret, and with Program.MayGoto State.May in f.May, then set State.May to vm.MaxMayGoto; move
// the stack pointer to f; call the code of Target with the host's call instruction. An exit leaves with Leave if Ret of its frame is 0,
// else charges Taken, looks at Room, restores what is in Saves, May and Frame.Host of the caller, and returns. The engine
// makes frames of the thread of what is on the stack when code leaves, and starts with none; but after a call or an access that only went on
// code continues in the frame it left (State.Top), unless memory became inaccessible of which the functions that wait may know something. What code needs
// to return from that frame is in it by then.
//
// Calls of helpers leave with CallFunc; the engine calls the function and continues after it.
//
// A KindCallInline is executed by the code itself: look up an element of an array, tell the time or the CPU. It leaves with CallFunc, having
// changed nothing, if State.Shut is not 0, if a lookup's r1 is not Inline.Map, which is a guess, or if the chunk of the element has no
// address in Array.Table yet; a key that its check does not find certainly fine is Interpret's. Otherwise it adds 1 to Calls of its kind, and
// if Program.Timed Step to Now, and changes no register but r0. The engine fills in Now, Boot, Step and CPU before it enters code, and lets vm.Ledger
// account for what was called when code is back, before anything else looks at it.
//
// # Words of the context
//
// A load with FlagWord whose base is State.Context yields the 64 bits at the address State.Words[Target], unless that is 0: packet
// addresses, see vm.Thread.SetContext. For all else it is a load as any.
//
// # Programs that run for long
//
// Code is made twice. First quickly, from plan.New; and again when a program with loops has executed many instructions (Engine.SetEager),
// after plan.Program.Optimise. In between the interpreter executes some thousand instructions while a sampler counts how often loops turn and
// how well a simple predictor does on branches that could be selections.
//
// Insns then has copies of loops after the slots of the program. Slot is what an instruction is called when code leaves, and code
// leaves from copies as from anywhere; it is entered in the program itself, since only there all checks are. All jumps to the header of a
// loop that has a copy, and what falls into it (Insn.Guard), go to its guards instead, in copies to the copy of the header. A KindGuard checks its
// range once, whatever its length; if it is not certainly fine, or the cell's Credit is not used up, code continues at Target, the loop with its
// checks, and at its next turn to the guards again. That keeps what package plan derived true: it says what the loop can touch from
// any of its turns on, and nothing becomes inaccessible while generated code runs.
//
// It relies on functions being entered where they begin, on all jumps being known (there are no copies in programs with indirect jumps or
// branches that look at r10), and on registers changing by what the program does alone (vm.Thread.Altered).
//
// A guard with FlagBound also sets the cell's Bound, and an addition with FlagBound compares its register Base with that (unsigned): code continues
// at the slot after it, in the program itself, unless it is below.
//
// FlagSelect and FlagRemainder allow to generate some instructions as one; a backend may ignore them.
//
// # Coverage
//
// With Target.Marks code sets a byte for each block that it runs to its end, and with Target.Ways for the ways of branches that no block tells of; whoever looks at
// the coverage clears them. Code that was made for the second time is made for a third time after a trial, without what is in Target.Known: what was set by then. Such thin
// code is entered in each run when all that is set again, and left when someone looks.
//
// # Counting
//
// See plan.Program: charge Taken on the taken edge and Next on the other where they are not 0. At FlagBack look at Room after charging,
// and leave with OutOfRoom at the target if it is negative.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package jit
