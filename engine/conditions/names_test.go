package conditions

import (
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"

	"kanon.dev/kanon/engine/apply/mark"
)

func TestNames(t *testing.T) {
	t.Parallel()
	names := NewNames("home")
	names.Note(mark.Ref{Kind: "ConfigMap", Namespace: "home", Name: "hunter2"}, "child d[2]")
	names.Note(mark.Ref{Kind: "ConfigMap", Namespace: "vault-7", Name: "child"}, "child e")
	for text, want := range map[string]string{
		"delete ConfigMap home/hunter2: it waits":              "delete child d[2]: it waits",
		`configmaps "hunter2" is forbidden`:                    `configmaps "child d[2]" is forbidden`,
		"hunter22 and hunter2, hunter2.":                       "hunter22 and child d[2], child d[2].",
		`namespace "vault-7" does not exist in home`:           `namespace "the namespace of child e" does not exist in home`,
		"ConfigMap vault-7/child is not a child, hunter2 is 5": "child e is not a child e, child d[2] is 5",
		"a text about home":                                    "a text about home",
	} {
		if got := names.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	cause := errors.New("no hunter2")
	if err := names.Error(cause); err.Error() != "no child d[2]" || !errors.Is(err, cause) {
		t.Errorf("the error is %v, want it without the name, and its cause", err)
	}
	var logged string
	log := names.Log(funcr.New(func(_, args string) { logged += args + "\n" }, funcr.Options{}))
	log.WithValues("child", mark.Ref{Kind: "ConfigMap", Namespace: "home", Name: "hunter2"}).Info("wrote hunter2", "n", 1)
	log.Error(cause, "failed")
	want := `"level"=0 "msg"="wrote child d[2]" "child"="child d[2]" "n"=1` + "\n" + `"msg"="failed" "error"="no child d[2]"` + "\n"
	if logged != want {
		t.Errorf("logged\n%s, want\n%s", logged, want)
	}
	if text := (*Names)(nil).Text("hunter2"); text != "hunter2" {
		t.Errorf("without names, the text is %q", text)
	}
}
