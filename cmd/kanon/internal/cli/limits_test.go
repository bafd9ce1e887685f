package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"kanon.dev/kanon/rules/program"
)

// The reference has each limit with its default.
func TestLimitsAreInTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), ",", "")
	flags := pflag.NewFlagSet("limits", pflag.ContinueOnError)
	AddLimits(flags, &program.Limits{})
	limits := 0
	flags.VisitAll(func(f *pflag.Flag) {
		limits++
		if row := "| `--" + f.Name + "` | " + f.DefValue + " |"; !strings.Contains(text, row) {
			t.Errorf("docs/reference/limits.md lacks the row %s", row)
		}
	})
	if limits < 6 {
		t.Errorf("%d limits, want 6 at the least", limits)
	}
}
