package decode

import (
	"fmt"
	"strconv"
)

func fieldText(name string, v int) string { return name + " " + strconv.Itoa(v) }

// callGraph holds the functions of a program and the local calls between them. Callbacks are not
// edges: whether their stack adds to the caller's depends on the helper that calls them.
type callGraph struct {
	starts   []int
	stack    []int // bytes used by each function, not rounded
	tailCall []bool
	calls    [][]call
}

type call struct {
	pc, callee int
}

func newCallGraph(c *checker) *callGraph {
	n := len(c.starts)
	g := &callGraph{starts: c.starts, stack: make([]int, n), tailCall: make([]bool, n), calls: make([][]call, n)}
	for i, start := range c.starts {
		end := c.end(i)
		g.stack[i] = c.stackDepth(start, end)
		for pc := start; pc < end; pc += c.insns[pc].Len() {
			switch imm := c.insns[pc].Imm; c.op(pc) {
			case OpCallLocal:
				g.calls[i] = append(g.calls[i], call{pc, SubprogramAt(c.starts, pc+1+int(imm))})
			case OpCallHelper:
				g.tailCall[i] = g.tailCall[i] || imm == tailCallHelper
			}
		}
	}
	return g
}

// order returns the functions, callers first, or the recursion that makes this impossible.
func (g *callGraph) order() ([]int, *CheckError) {
	const (
		fresh = iota
		open
		done
	)
	state := make([]uint8, len(g.starts))
	next := make([]int, len(g.starts)) // next call to follow
	post := make([]int, 0, len(g.starts))
	for root := range g.starts {
		if state[root] != fresh {
			continue
		}
		path := []int{root}
		state[root] = open
		for len(path) > 0 {
			f := path[len(path)-1]
			if next[f] == len(g.calls[f]) {
				state[f] = done
				post = append(post, f)
				path = path[:len(path)-1]
				continue
			}
			edge := g.calls[f][next[f]]
			next[f]++
			switch state[edge.callee] {
			case open:
				return nil, fail(edge.pc, ErrCallDepth, "function at slot %d calls itself", g.starts[edge.callee])
			case fresh:
				state[edge.callee] = open
				path = append(path, edge.callee)
			}
		}
	}
	for i, j := 0, len(post)-1; i < j; i, j = i+1, j-1 {
		post[i], post[j] = post[j], post[i]
	}
	return post, nil
}

// check checks the longest chain that leads to each function.
func (g *callGraph) check(order []int, cfg CheckConfig) *CheckError {
	frames := make([]int, len(g.starts)) // frames on the stack when the function is entered
	above := make([]int, len(g.starts))  // their stack, in bytes
	round := stackRounding(cfg.Kernel)
	for _, f := range order {
		own := round(g.stack[f])
		for _, edge := range g.calls[f] {
			callee := edge.callee
			frames[callee] = max(frames[callee], frames[f]+1)
			if frames[callee] >= MaxFrames {
				return fail(edge.pc, ErrCallDepth, "%d frames, the kernel has %d", frames[callee]+1, MaxFrames)
			}
			if cfg.PrivateStack || cfg.Walked {
				continue
			}
			above[callee] = max(above[callee], above[f]+own)
			if g.tailCall[callee] && above[callee] >= tailCallStack {
				return fail(edge.pc, ErrTailCallStack, "%d bytes, at most %d", above[callee], tailCallStack-1)
			}
			if total := above[callee] + round(g.stack[callee]); total > MaxStack {
				return &CheckError{Insn: edge.pc, Kind: ErrStackDepth, Detail: fmt.Sprintf("%d bytes in %d frames", total, frames[callee]+1)}
			}
		}
	}
	return nil
}

// stackRounding returns the function by which a kernel rounds the stack of a frame.
func stackRounding(k Version) func(int) int {
	coarse := k != 0 && k < v6_9
	return func(n int) int { return RoundStack(n, !coarse) }
}

// RoundStack rounds the n bytes of stack that a function uses up to the size of its frame: to a
// multiple of 32 bytes, or of 16 where the kernel counts the frames of native code (byJIT, from 6.9
// on; verifier.c round_up_stack_depth). A function that uses no stack takes 32 or 0 bytes.
func RoundStack(n int, byJIT bool) int {
	if byJIT {
		return (n + 15) &^ 15
	}
	return (max(n, 1) + 31) &^ 31
}
