package rules

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// The value of what reads nothing is not kept with the program where it is large: nothing
// bounds what the programs hold.
func TestLargeConstantsAreNotKept(t *testing.T) {
	var rule strings.Builder
	rule.WriteString("  variables:\n")
	for i := range 20 {
		fmt.Fprintf(&rule, "  - {name: v%d, value: \"${lists.range(100000)}\"}\n", i)
	}
	rule.WriteString("  status: {size: \"${variables.v0.size()}\"}\n")
	compileWithin(t, rule.String(), program.Limits{}) // what all rules share is made
	before := heap()
	p := compileWithin(t, rule.String(), program.Limits{})
	if held, most := heap()-before, int64(4<<20); held > most {
		t.Errorf("the program holds %d bytes, want %d at the most", held, most)
	}
	runtime.KeepAlive(p)
}

// What a large constant is is known although it is not kept.
func TestLargeConstantIsNoCondition(t *testing.T) {
	docs, findings := syntax.Decode("f", []byte(ruleFor("  deleteWhen: \"${dyn(lists.range(10000))}\"\n")))
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	_, findings = Compile(docs.Rules[0], Options{})
	if want := "must be true or false, and this gives a list"; !strings.Contains(fmt.Sprint(findings), want) {
		t.Errorf("there is no %q in %v", want, findings)
	}
}
