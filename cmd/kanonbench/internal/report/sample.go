package report

import (
	"cmp"
	"slices"
	"strings"
)

// The engines, as named in results.
const (
	Operator = "operator"
	Kanon    = "kanon"
)

// Phase is a part of the benchmark that is measured separately.
type Phase string

// The phases, in order. Each begins when the engine is idle after the previous one.
const (
	New     Phase = "New"     // all parents are created
	Change  Phase = "Change"  // all parents change, and so two children of each
	Drift   Phase = "Drift"   // another client edits two children of every other parent
	Rest    Phase = "Rest"    // nothing happens
	Restart Phase = "Restart" // the engine is stopped and started, with all objects in place
	One     Phase = "One"     // parents are created one after the other
	Delete  Phase = "Delete"  // all parents are deleted
	Beside  Phase = "Beside"  // all parents change continuously, and one of another rule now and then
)

// The units of values. Times are in seconds, memory is in bytes.
const (
	Time      = "sec/op"
	CPU       = "cpu-sec/op"        // of the engine
	ServerCPU = "server-cpu-sec/op" // of the control plane
	Allocated = "server-alloc-B/op" // by the API server
	Strangers = "strangers-cores"   // processors that other programs kept busy
	Writes    = "writes/parent"
	Reads     = "reads/parent"
	Requests  = "requests/min"
	CPUMinute = "cpu-sec/min"
	Median    = "p50-sec/op"
	Worst     = "p99-sec/op"
	Resident  = "resident-B"
	Peak      = "peak-B"
	Empty     = "empty-B"
	PerParent = "B/parent" // resident beyond an empty process
	AllWrites = "writes/op"
	AllReads  = "reads/op"
	Watches   = "watches/op" // started
	Rate      = "writes/sec"
	// The time for the answer to the write that causes the measured change.
	AnswerMedian = "answer-p50-sec/op"
	AnswerWorst  = "answer-p99-sec/op"
)

// CountUnit is the unit for the number of requests of a verb on a resource.
func CountUnit(verb, resource string) string {
	return verb + ":" + strings.ReplaceAll(resource, "/", ".")
}

func isCount(unit string) bool { return strings.Contains(unit, ":") }

// Value is a number with its unit.
type Value struct {
	Unit   string
	Number float64
}

// Sample is the result of one engine in one phase of one round.
type Sample struct {
	Phase  Phase
	Engine string
	Load   Load
	Values []Value
}

// Load is the work of the engines.
type Load struct {
	// Parents is the number of parents, and Children the number of children of each.
	Parents, Children int
	// Kinds is the number of parent kinds, each with a rule of its own. 0 means one.
	Kinds int
	// Size is the number of additional bytes in each parent's first ConfigMap.
	Size int
	// Patch is what parents patch instead of having children. own: each parent one object; shared: all parents the same
	// object; selected: one parent all objects, of which Parents is the number.
	Patch string
}

// isSmall reports whether the load is too small to predict larger ones: 100 parents change in less than half a second.
func (l Load) isSmall() bool { return l.Parents < 1000 }

// compare orders loads by all other fields, and then by Parents.
func (l Load) compare(other Load) int {
	return cmp.Or(
		cmp.Compare(l.Patch, other.Patch), cmp.Compare(l.Children, other.Children), cmp.Compare(l.Kinds, other.Kinds),
		cmp.Compare(l.Size, other.Size), cmp.Compare(l.Parents, other.Parents),
	)
}

// Value is the number with a unit, if the sample has one.
func (s *Sample) Value(unit string) (float64, bool) {
	i := slices.IndexFunc(s.Values, func(v Value) bool { return v.Unit == unit })
	if i < 0 {
		return 0, false
	}
	return s.Values[i].Number, true
}

// Circumstance is a circumstance of a run, such as the machine.
type Circumstance struct{ Key, Value string }

// The keys of circumstances.
const (
	KeyDate       = "date"
	KeyMachine    = "machine"
	KeyKubernetes = "kubernetes"
	KeyGo         = "go"
	KeyKanon      = "kanon"
	KeyOperator   = "controller-runtime"
)

// Run is the result of a benchmark.
type Run struct {
	Circumstances []Circumstance
	Samples       []Sample // those of one phase and engine are in the order of the rounds
}

// Circumstance is the value of a key, or "".
func (r *Run) Circumstance(key string) string {
	for _, c := range r.Circumstances {
		if c.Key == key {
			return c.Value
		}
	}
	return ""
}

// Loads lists the measured loads, sorted.
func (r *Run) Loads() []Load {
	var loads []Load
	for _, s := range r.Samples {
		if !slices.Contains(loads, s.Load) {
			loads = append(loads, s.Load)
		}
	}
	slices.SortFunc(loads, Load.compare)
	return loads
}

// Numbers lists the numbers of all rounds, in order.
func (r *Run) Numbers(load Load, phase Phase, engine, unit string) []float64 {
	var numbers []float64
	for _, s := range r.Samples {
		if s.Load != load || s.Phase != phase || s.Engine != engine {
			continue
		}
		// A sample has no value for a kind of request that was not sent.
		if n, ok := s.Value(unit); ok || isCount(unit) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
