package catalog

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/source"
)

// TestEvents: which Events a new report causes.
func TestEvents(t *testing.T) {
	t.Parallel()
	good, bad := source.RuleReport{Name: "good", ID: "1", Ready: true, Message: "running"}, source.RuleReport{Name: "bad", ID: "2", Message: "a mistake"}
	held := source.RuleReport{Name: "held", ID: "3", Reason: "PruneHeld", Message: "PruneHeld: nothing is deleted"}
	unrecorded, corrected := source.RuleReport{Name: "unrecorded", ID: "4", Message: "a mistake"}, source.RuleReport{Name: "bad", ID: "2", Ready: true, Message: "running"}
	for name, test := range map[string]struct {
		file           bool
		before, report source.Report
		want           string
	}{
		"accepted":               {report: source.Report{Ready: true, Message: "all", Rules: []source.RuleReport{good}}, want: "Normal RulesAccepted all"},
		"a rule is refused":      {report: source.Report{Message: "1 of 2", Rules: []source.RuleReport{bad, good}}, want: "Warning RulesRefused 1 of 2; bad: a mistake"},
		"a text is refused":      {report: source.Report{Message: "not YAML", Problems: []string{"not YAML"}}, want: "Warning RulesRefused not YAML"},
		"a rule is held":         {report: source.Report{Message: "1 of 1", Rules: []source.RuleReport{held}}, want: "Warning PruneHeld rule held: nothing is deleted"},
		"one of each":            {report: source.Report{Message: "2 of 2", Rules: []source.RuleReport{bad, held}}, want: "Warning PruneHeld rule held: nothing is deleted\nWarning RulesRefused 2 of 2; bad: a mistake"},
		"file: accepted":         {file: true, report: source.Report{Ready: true, Rules: []source.RuleReport{good}}, want: ""},
		"file: a rule refused":   {file: true, report: source.Report{Rules: []source.RuleReport{bad, good}}, want: "Warning RulesRefused bad: a mistake"},
		"file: as before":        {file: true, before: source.Report{Rules: []source.RuleReport{bad}}, report: source.Report{Rules: []source.RuleReport{bad, good}}, want: ""},
		"file: corrected":        {file: true, before: source.Report{Rules: []source.RuleReport{bad}}, report: source.Report{Rules: []source.RuleReport{corrected}}, want: "Normal RulesAccepted bad: running"},
		"file: a rule is held":   {file: true, report: source.Report{Rules: []source.RuleReport{held}}, want: "Warning PruneHeld rule held: nothing is deleted"},
		"file: without a record": {file: true, report: source.Report{Rules: []source.RuleReport{unrecorded}}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := record.NewFakeRecorder(10)
			e := events{recorder: recorder, recordOf: func(id string) *corev1.ObjectReference {
				if id == unrecorded.ID {
					return nil
				}
				return &corev1.ObjectReference{Name: id}
			}}
			if test.file {
				e.fileChanged(test.before, test.report)
			} else {
				e.objectChanged(source.Origin{ConfigMap: types.NamespacedName{Name: "one"}}, test.report)
			}
			var got []string
			for len(recorder.Events) > 0 {
				got = append(got, <-recorder.Events)
			}
			if strings.Join(got, "\n") != test.want {
				t.Errorf("the Events are %q, want %q", got, test.want)
			}
		})
	}
}
