package plan

import "unsafe"

// Offsets of fields of State, for generated code.
const (
	OffRegs      = int32(unsafe.Offsetof(State{}.Regs))
	OffData      = int32(unsafe.Offsetof(State{}.Data))
	OffLimit     = int32(unsafe.Offsetof(State{}.Limit))
	OffEntry     = int32(unsafe.Offsetof(State{}.Entry))
	OffArenaKern = int32(unsafe.Offsetof(State{}.ArenaKern))
	OffArenaUser = int32(unsafe.Offsetof(State{}.ArenaUser))
	OffRoom      = int32(unsafe.Offsetof(State{}.Room))
	OffMay       = int32(unsafe.Offsetof(State{}.May))
	OffTop       = int32(unsafe.Offsetof(State{}.Top))
	OffHost      = int32(unsafe.Offsetof(State{}.Host))
	OffExit      = int32(unsafe.Offsetof(State{}.Exit))
	OffSP        = int32(unsafe.Offsetof(State{}.SP))
	OffNegBase   = int32(unsafe.Offsetof(State{}.NegBase))
	OffShadow    = int32(unsafe.Offsetof(State{}.Shadow))
	OffCells     = int32(unsafe.Offsetof(State{}.Cells))
	OffContext   = int32(unsafe.Offsetof(State{}.Context))
	OffWords     = int32(unsafe.Offsetof(State{}.Words))
	OffShut      = int32(unsafe.Offsetof(State{}.Shut))
	OffNow       = int32(unsafe.Offsetof(State{}.Now))
	OffBoot      = int32(unsafe.Offsetof(State{}.Boot))
	OffStep      = int32(unsafe.Offsetof(State{}.Step))
	OffCPU       = int32(unsafe.Offsetof(State{}.CPU))
	OffKeyAt     = int32(unsafe.Offsetof(State{}.KeyAt))
	OffNext      = int32(unsafe.Offsetof(State{}.NextLength))
	OffPrefix    = int32(unsafe.Offsetof(State{}.Prefix))
	OffCalls     = int32(unsafe.Offsetof(State{}.Calls))
	OffLock      = int32(unsafe.Offsetof(State{}.Lock))
	OffLockedAt  = int32(unsafe.Offsetof(State{}.LockedAt))
	OffLocks     = int32(unsafe.Offsetof(State{}.Locks))
	OffRecord    = int32(unsafe.Offsetof(State{}.Record))
	OffGranules  = int32(unsafe.Offsetof(State{}.RecordGranules))
	OffFilled    = int32(unsafe.Offsetof(State{}.Filled))
	OffStocks    = int32(unsafe.Offsetof(State{}.Stocks))
	OffLog       = int32(unsafe.Offsetof(State{}.RecordLog))
	OffLogEnd    = int32(unsafe.Offsetof(State{}.LogEnd))
	OffTails     = int32(unsafe.Offsetof(State{}.Tails))
	OffOver      = int32(unsafe.Offsetof(State{}.Over))
	OffArrive    = int32(unsafe.Offsetof(State{}.Arrive))
	OffSlack     = int32(unsafe.Offsetof(State{}.Slack))
	OffFrame0    = int32(unsafe.Offsetof(State{}.Stack) + unsafe.Sizeof(State{}.Stack) - FrameSize) // of Frame(0)
	OffMarks     = int32(unsafe.Sizeof(State{}))                                                    // of the bytes after it
)

// Offsets of fields of Cell.
const (
	CellCount   = int32(unsafe.Offsetof(Cell{}.Count))
	CellCredit  = int32(unsafe.Offsetof(Cell{}.Credit))
	CellBound   = int32(unsafe.Offsetof(Cell{}.Bound))
	CellBackoff = int32(unsafe.Offsetof(Cell{}.Backoff))
	CellLo      = int32(unsafe.Offsetof(Cell{}.Lo))
	CellN       = int32(unsafe.Offsetof(Cell{}.N))
)

// Offsets of fields of StockState, and the distance between them.
const (
	StockEnd    = int32(unsafe.Offsetof(StockState{}.End))
	StockStride = int32(unsafe.Offsetof(StockState{}.Stride))
	StockSize   = int32(unsafe.Sizeof(StockState{}))
)

// Offsets of fields of RecordState, and its size.
const (
	RecordReserved = int32(unsafe.Offsetof(RecordState{}.Reserved))
	RecordEnded    = int32(unsafe.Offsetof(RecordState{}.Ended))
	RecordAt       = int32(unsafe.Offsetof(RecordState{}.At))
	RecordSize     = int32(unsafe.Sizeof(RecordState{}))
)

// Offsets of fields of Frame.
const (
	FrameReturn = int32(unsafe.Offsetof(Frame{}.Return))
	FrameHost   = int32(unsafe.Offsetof(Frame{}.Host))
	FrameSaved  = int32(unsafe.Offsetof(Frame{}.Saved))
	FrameRet    = int32(unsafe.Offsetof(Frame{}.Ret))
	FrameMay    = int32(unsafe.Offsetof(Frame{}.May))
	frameTurns  = int32(unsafe.Offsetof(Frame{}.Scratch))
)

// Offsets in Frame of fields of Turns.
const (
	TurnsI      = frameTurns + int32(unsafe.Offsetof(Turns{}.I))
	TurnsN      = frameTurns + int32(unsafe.Offsetof(Turns{}.N))
	TurnsCtx    = frameTurns + int32(unsafe.Offsetof(Turns{}.Ctx))
	TurnsMap    = frameTurns + int32(unsafe.Offsetof(Turns{}.Map))
	TurnsKey    = frameTurns + int32(unsafe.Offsetof(Turns{}.Key))
	TurnsValue  = frameTurns + int32(unsafe.Offsetof(Turns{}.Value))
	TurnsStride = frameTurns + int32(unsafe.Offsetof(Turns{}.Stride))
)

// CellOffset returns the offset in State of the cell of a check, in bytes.
func (in *Insn) CellOffset() int32 { return OffCells + int32(in.Cell)*int32(CellSize) }
