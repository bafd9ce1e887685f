package lifecycletest_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kanon.dev/kanon/internal/controlplanetest"
)

var (
	seed      = flag.Uint64("seed", 1, "what everything random is drawn from")
	sequences = flag.Int("sequences", 36, "how many sequences to run; make lives runs 500")
	only      = flag.Int("only", -1, "the number of the one sequence to run")
	// patience bounds every wait for a state; a healthy engine needs a fraction.
	patience = flag.Duration("patience", 5*time.Minute, "how long a sequence may take to come to rest")
	logs     = flag.Bool("logs", true, "show what the engine logged of a sequence that failed")
	stacks   = flag.String("stacks", "", "the file that is to have all goroutines when a sequence does not come to rest")
	skipped  = numbers("skip", "the operations to leave out of the one sequence, such as 4,7")
)

// numbers defines a flag that is a list of numbers.
func numbers(name, usage string) *[]int {
	var list []int
	flag.Func(name, usage, func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil {
				return err
			}
			list = append(list, n)
		}
		return nil
	})
	return &list
}

func TestMain(m *testing.M) { os.Exit(controlplanetest.MainWith(m, controlplanetest.Options{})) }

const (
	lanes = 2
	// width is how many sequences live side by side on one engine.
	width = 18
	// rounds is into how many parts a life is divided.
	rounds = 6
)

// roundEnd is what happens to the engine between two rounds.
type roundEnd int

const (
	endNothing roundEnd = iota
	endRest             // everything comes to rest
	endRestart          // in the middle of what it is doing
	endStop             // it is away during the next round
)

func (e roundEnd) String() string { return [...]string{"-", "rest", "restart", "stop"}[e] }

func drawEnds(random *rand.Rand) []roundEnd {
	ends := make([]roundEnd, rounds)
	for i := range ends {
		ends[i] = oneOf(random, endNothing, endRest, endRest, endRest, endRestart, endRestart, endStop)
	}
	return ends
}

// writeStacks says what everybody was doing when the first sequence gave up.
func writeStacks() {
	if *stacks == "" {
		return
	}
	file, err := os.OpenFile(*stacks, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	defer file.Close()                             //nolint:errcheck // as above
	_ = pprof.Lookup("goroutine").WriteTo(file, 1) // at best
}

// TestRandomLives runs random sequences of operations; see the package's doc.
func TestRandomLives(t *testing.T) {
	c := newCluster(t, controlplanetest.Config(t))
	batches := make(chan int)
	go func() {
		defer close(batches)
		for first := 0; first < max(*sequences, *only+1); first += width {
			if *only < 0 || (first <= *only && *only < first+width) {
				batches <- first
			}
		}
	}()
	var group sync.WaitGroup
	for range lanes {
		l := newLane(t, c, width)
		group.Go(func() {
			for first := range batches {
				l.runBatch(first)
			}
		})
	}
	group.Wait()
}

// runBatch runs the sequences from a number on, and reports what went wrong.
func (l *lane) runBatch(first int) {
	ends := drawEnds(rand.New(rand.NewPCG(*seed, 1<<32+uint64(first))))
	var batch []*sequence
	for i := range width {
		number := first + i
		if *only >= 0 && number != *only || *only < 0 && number >= *sequences {
			continue
		}
		s := newSequence(l, *seed, number, i, rounds)
		s.changed = l.listen(s.prefix)
		batch = append(batch, s)
	}
	l.log.clear()
	began := time.Now()
	l.run(batch, ends)
	for _, s := range batch {
		switch story := strings.Join(s.story, "\n"); {
		case s.failure != "":
			l.t.Errorf("-seed %d -only %d: between the rounds %v\n%s%s", *seed, s.number, ends, s.failure, story)
		case *only >= 0:
			l.t.Logf("between the rounds %v\n%s", ends, story)
		}
		l.clean(s)
	}
	l.t.Logf("sequences %d to %d: %s, %d writes, %d requests", first, first+len(batch)-1, time.Since(began).Round(time.Second), len(l.writes.entries), l.writes.total())
}
