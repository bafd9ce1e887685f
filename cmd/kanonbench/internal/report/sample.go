package report

import (
	"cmp"
	"slices"
	"strings"
)

// The engines, as they are named in results.
const (
	Operator = "operator"
	Loop     = "loop"
	Kanon    = "kanon"
)

// Phase is one of the things that are measured.
type Phase string

// The phases, in their order. Each begins when the engine has come to rest after the one before.
const (
	New     Phase = "New"     // all parents are created
	Change  Phase = "Change"  // all parents change, and so two children of each
	Drift   Phase = "Drift"   // two children of every other parent are edited by someone else
	Rest    Phase = "Rest"    // nothing happens
	Restart Phase = "Restart" // the engine is stopped and started; all is in place
	One     Phase = "One"     // parents are created one after the other
	Delete  Phase = "Delete"  // all parents are deleted
	Beside  Phase = "Beside"  // all parents change again and again, and one of another rule now and then
)

// The units of values. Those of time are seconds, those of memory bytes.
const (
	Time      = "sec/op"
	CPU       = "cpu-sec/op"        // of the engine
	ServerCPU = "server-cpu-sec/op" // of the control plane
	Allocated = "server-alloc-B/op" // by the API server
	Strangers = "strangers-cores"   // processors that others kept busy meanwhile
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
	Watches   = "watches/op" // that began
	Rate      = "writes/sec"
	// Of the one write that is the cause of what is timed.
	AnswerMedian = "answer-p50-sec/op"
	AnswerWorst  = "answer-p99-sec/op"
)

// CountUnit is the unit of the number of requests of a verb on a resource.
func CountUnit(verb, resource string) string {
	return verb + ":" + strings.ReplaceAll(resource, "/", ".")
}

func isCount(unit string) bool { return strings.Contains(unit, ":") }

// Value is a number with its unit.
type Value struct {
	Unit   string
	Number float64
}

// Sample is what one engine did in one phase of one round.
type Sample struct {
	Phase  Phase
	Engine string
	Load   Load
	Values []Value
}

// Load is what there is to do.
type Load struct {
	// Parents is how many there are, Children how many each has.
	Parents, Children int
	// Kinds is how many kinds of parents there are, each with a rule of its own. 0
	// stands for one.
	Kinds int
	// Size is how many bytes more than usual each parent's first ConfigMap has.
	Size int
	// Patch is what parents patch in place of having children: own, an object each;
	// shared, one object; selected, one parent all objects, which Parents counts then.
	Patch string
}

// isSmall tells whether the load is so small that it says nothing of larger ones: 100 parents are changed
// in less than half a second.
func (l Load) isSmall() bool { return l.Parents < 1000 }

// compare orders loads by what they are, then by their parents.
func (l Load) compare(other Load) int {
	return cmp.Or(
		cmp.Compare(l.Patch, other.Patch), cmp.Compare(l.Children, other.Children), cmp.Compare(l.Kinds, other.Kinds),
		cmp.Compare(l.Size, other.Size), cmp.Compare(l.Parents, other.Parents),
	)
}

// Value is the number of a unit, if there is one.
func (s *Sample) Value(unit string) (float64, bool) {
	i := slices.IndexFunc(s.Values, func(v Value) bool { return v.Unit == unit })
	if i < 0 {
		return 0, false
	}
	return s.Values[i].Number, true
}

// Circumstance is a line of a run's circumstances, such as the machine.
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

// Run is all of a benchmark.
type Run struct {
	Circumstances []Circumstance
	Samples       []Sample // those of one phase and engine in the order of the rounds
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

// Loads are the loads that were measured, by children and parents.
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

// Numbers are the numbers of all rounds, in their order.
func (r *Run) Numbers(load Load, phase Phase, engine, unit string) []float64 {
	var numbers []float64
	for _, s := range r.Samples {
		if s.Load != load || s.Phase != phase || s.Engine != engine {
			continue
		}
		// A kind of request that was not sent is not among the values.
		if n, ok := s.Value(unit); ok || isCount(unit) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
