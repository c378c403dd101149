// Package jit runs programs as native code with the same checks as the interpreter. [New] returns
// an [Engine] for a Memory, for use with vm.Thread.SetEngine.
//
// It decides when native code runs, and manages what code shares with Go, and the code's pages.
// Package plan decides what code does, independent of the processor; jit/amd64 and jit/arm64 encode
// it. It does not know helpers, maps or program types.
//
// # The contract between plan, backend and engine
//
// The interpreter alone decides faults. Generated code tests whether an instruction is certainly
// valid. If a test fails, code leaves before that instruction with all registers unchanged
// (plan.Interpret), the interpreter executes that one instruction (vm.Thread.Access, if it accesses
// memory), and the engine continues with native code at the next slot with plan.FlagEntry. Tests
// may therefore be conservative, and rare cases may be left out.
//
// A backend is two functions.
//
//	Compile(p *plan.Program, t plan.Target, out *plan.Code) error
//	Enter(text, state uintptr)
//
// Compile runs plan.Emission.Emit, which iterates over the instructions and requests one piece of
// code after another from a plan.Backend. A backend is driven by one table indexed by decode.Op; a
// test checks that no op is missing. It must be fast (some 40 ns per instruction) and allocate only
// the output. Enter is assembly: it saves the registers that Go's ABI0 preserves, calls text, and
// returns.
//
// # Memory
//
// One mapping holds the plan.State, in a read-write page of its own, and after it the code, in
// pages that are first writable and then executable, never both. Offsets in State are those of
// unsafe.Offsetof.
//
// # Registers
//
// r0 to r9 are in host registers of the backend's choice for the whole program, so that every slot
// with FlagEntry can be entered: the code at Text[0] loads them from State.Regs and jumps to
// State.Entry. r10 is never in a register: a register holds Frame.Host of the running function, and
// where r10 is needed as a value it is loaded from Frame.FP. Further registers hold State.Room and
// State.Data, and some are scratch. On exit code stores r0 to r9 and Room (r10 is the engine's),
// sets State.Exit and Top, each with one 64-bit store because Go reads them at once, and restores
// the stack pointer from State.SP.
//
// On arm64 code must not use R18 (the platform's) and R28 (g, which a signal handler reads from
// there). On amd64 g is in thread-local storage, so all registers may be used, SP only for
// State.Stack. Signals during generated code are handled on the signal stack; the runtime does not
// know the pc, so it neither preempts nor unwinds there. Code runs for at most one slice of the
// budget; then the garbage collector gets its turn.
//
// # Accesses
//
// With plan.CheckNone the access is [Frame.Host + Off] without any test: the engine does not
// run threads whose stack is not plain memory (vm.Thread.Tracks, watches).
//
// With CheckRange, o = value of Base + Lo - Target.Base (64 bits, wrapping) must be below
// State.Limit, and the shadow of the bytes o to o+Hi-Lo-1, at Data + ShadowDelta + o>>3, must allow
// the access: a class of 0; for ranges without FlagRangeStore also the bits of mem.LoadsIgnore; for
// others mem.ClassHeadGuarded in the first granule if they begin in its last four bytes; and in the
// last granule also n = 1 to 7 (plus ClassStoreTrap for loads) if no byte from n on is accessed.
// First test quickly whether all classes are 0, then exactly in out-of-line code, and leave with
// Interpret only if that fails. A range is at most 57 bytes, 8 granules at any alignment, and
// shadow up to 64 bytes after Limit may be read. Atomic, acquire and release accesses must be
// aligned to their size, else Interpret.
//
// A backend may use the range's plan.Cell for a faster test.
//
// With CheckDone nothing is tested. The access itself is to Data + value of Base + Off -
// Target.Base. Only one thread uses a memory, so atomics need neither a bus lock nor barriers.
//
// # Calls
//
// State.Stack is the stack of generated code. On entry, Text[0] saves the goroutine's stack pointer
// in State.SP and sets the stack pointer to State.Frame(0), or, in programs with calls, to
// State.Top. On exit, code stores its current frame in State.Top. The next frame is at the next
// lower address, and may be read and filled in ahead.
//
// A bpf-to-bpf call (KindCall) charges Taken and checks Room. Let f be the next frame. If f.Host is
// 0, code exits with Interpret. It stores the registers of r6 to r9 that are in Saves in f.Saved
// (with SavesHost, f.Host also becomes the base of CheckNone) and the slot after the call in f.Ret.
// With Program.MayGoto it stores State.May in f.May and sets State.May to vm.MaxMayGoto. Then it
// moves the stack pointer to f and calls the code of Target with the host's call instruction. An
// exit leaves with Leave if Ret of its frame is 0. Otherwise it charges Taken, checks Room,
// restores the registers in Saves, May, and the caller's Frame.Host, and returns. When code exits,
// the engine creates frames of the thread from the stack; code then starts again with an empty
// stack. The exception is a call or an access after which execution simply continues: code resumes
// in the frame it left (State.Top), unless memory became inaccessible that a waiting function may
// have checked. That frame already contains everything that code needs to return from it.
//
// Calls of helpers exit with CallFunc. The engine calls the function and continues after it.
//
// A call with FlagTurns is that of a helper that calls a function of the program again and again.
// Code makes these calls itself, by the Turns in the frame f that the function gets: after the
// function returned 0, it begins the next turn while that is below N. It begins an InlineLoop and
// ends it, when the function returns 0 for the last time or 1, unless State.Shut is not 0, the
// function is not the assumed one, r4 is not 0, r1 is 0 or more than vm.MaxTurns (32 bits), or
// f.Host is 0, when it exits with CallFunc. Everything else it leaves to the helper, with Returned:
// then all executed instructions are charged, whatever Count says. When code exits inside the
// function, the engine gives its frame of the thread the continuation that belongs to the turn, and
// when it enters code in such a function again, makes the frame from the continuation. Code in
// copies of loops always exits with CallFunc.
//
// Code makes a KindTailCall itself in the function that ran when Go called, if the slot of the
// program array has a link, which is the address of the State of the other program's code. It exits
// with CallFunc, before any change, if State.Shut or Frame.Ret is not 0, r2 is not Inline.Map, r3
// (32 bits) is beyond Inline.Progs.Links, the link is 0, State.Tails and State.Over are 0, or
// State.Room, with everything executed charged and plus Program.Slack, is below the other State's
// Slack. Otherwise it adds 1 to Calls of its kind. If Tails is 0, the call is beyond
// vm.MaxTailCalls: r0 becomes 0, the time passes, and code goes on. If not, code gives the other
// State Now plus Step, Tails less 1 and its SP, and jumps to the other Arrive with r0 to r9 and
// what is left of the room in their host registers; programs with tail calls therefore use all of
// these. There, code stores those that it does not use in the thread, and begins in its Frame(0),
// with a May of vm.MaxMayGoto. The engine gives all linked States what does not change before code
// exits: Limit, Boot, Step, Over. Enter returns the address of the State of the code that exited.
// The engine links a slot when the program in it starts after a tail call that Go made, unless that
// code is still to be compiled again; it drops all links when anything changes that code was
// prepared for, and the array drops one when its slot changes.
//
// Code executes a KindCallInline itself: it looks up an element of an array, a hash, a trie or
// local storage, advances an iterator over numbers, takes or releases a spin lock, reserves or ends a
// record of a ring buffer, or reads the time or the CPU number. It exits with CallFunc,
// before any change, if State.Shut is not 0, if r1 of a lookup is not Inline.Map, which is a guess,
// or if the chunk of the element has no address in Array.Table yet. Inline.Known says that r1 is
// certain. A lookup that finds an element also sets the cells of Inline.Fills, accesses that
// probably follow, to the element, which is accessible (vm.Array.Open), and if the hash has an
// Order, uses the slot. In local storage code finds only what is there, when r3 is 0 and r4 at most
// 1, and the shadow says that the owner, r2, is in a live region; otherwise it exits with CallFunc,
// with r0 as it was. If the check of a lookup's key or of an iterator does not find it certainly
// valid, it exits with Interpret. Otherwise it adds 1 to Calls of its kind and, if Program.Timed,
// Step to Now, and changes no register but r0. The engine sets Now, Boot, Step and CPU before it
// enters code. When code exits, it first has vm.Ledger account for the calls.
//
// Code takes a lock that is in State.Locks and whose four bytes are 0: they become 1, Lock and
// LockedAt say which lock it is and at which slot, and Shut becomes ShutLocked, so that all calls
// but the one that releases Lock exit with CallFunc. That one clears the four bytes and Shut. The
// engine adds a lock to Locks, and lets code release it, if vm.Ledger.Lock names it when code is
// entered. It empties Locks when memory becomes inaccessible.
//
// Code reserves a record of the Stock if r1 is Inline.Map, r2 Inline.Record and r3 0, no Record is
// open, the log has room, and the stock's Next is not its End; otherwise it exits with CallFunc. The
// record's bytes become 0, its shadow plain, and the cells of Fills are set to it. Record,
// RecordGranules and Filled are set, and Addr and Reserved of what is at RecordLog. Code ends a record
// if r1 is Record and not 0, and Filled is 0: then no cell knows of it but Program.StaleCells, which
// are reset. Its shadow becomes mem.ClassFreed, Ended and At are set, and RecordLog advances. This is
// the only way in which memory becomes inaccessible while code runs. When code exits, the engine has
// vm.Ledger account for the records, and empties the stocks, which it sets before code is entered.
//
// # Words of the context
//
// A load with FlagWord whose base is State.Context yields the 64 bits at the address
// State.Words[Target], unless that address is 0. These words are packet addresses; see
// vm.Thread.SetContext. In all other cases it is an ordinary load.
//
// # Optimised code
//
// A program is first compiled quickly, from plan.New. If it has loops, it is compiled again after
// it has executed many instructions (Engine.SetEager), with plan.Program.Optimise. In between, the
// interpreter executes some thousand instructions while a sampler counts iterations of loops and
// measures how well a simple predictor predicts branches that could become selections.
//
// Insns then contains copies of loops after the slots of the program. Code may exit from a copy as
// from anywhere, and reports Slot; it is entered only in the original program, which has all
// checks. All jumps to the header of a loop that has a copy, and the fall-through into it
// (Insn.Guard), go to its guards instead; in copies, they go to the copy of the header. A KindGuard
// checks its range once, whatever its length. If the range is not certainly accessible, or the
// cell's Credit is not used up, code continues at Target, the loop with its checks, and reaches the
// guards again at the next iteration. This keeps the results of package plan valid: they describe
// what the loop can touch from any iteration on, and memory does not become inaccessible while
// generated code runs.
//
// The optimisation assumes that functions are entered at their first instruction, that all jumps
// are known (programs with indirect jumps or with branches that read r10 get no copies), and that
// only the program changes registers (vm.Thread.Altered).
//
// A guard with FlagBound also sets the cell's Bound. An addition with FlagBound compares its
// register Base with Bound (unsigned): unless it is below, code continues at the next slot in the
// original program.
//
// A load with FlagSwap reverses the bytes that it reads.
//
// FlagSelect and FlagRemainder allow a backend to generate several instructions as one. It may
// ignore them.
//
// # Coverage
//
// With Target.Marks, code sets a byte for each block that it runs to its end, and with Target.Ways
// for each edge of a branch that no block's mark implies. The reader of the coverage clears the
// bytes. After a trial period, optimised code is compiled a third time without the marks in
// Target.Known: those already set by then. A run enters this thin code once all those marks are set
// again, and leaves it when the coverage is read.
//
// # Counting
//
// Charge as described at plan.Program: Taken on the taken edge and Next on the fall-through edge,
// where they are not 0. At FlagBack, check Room after charging, and exit with OutOfRoom at the
// target if it is negative.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package jit
