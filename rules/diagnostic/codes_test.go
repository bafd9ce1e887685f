package diagnostic

import "testing"

// TestCodes holds that codes are in order, each once, and described.
func TestCodes(t *testing.T) {
	t.Parallel()
	last := Code("")
	titles := map[string]bool{}
	for _, info := range Codes() {
		if info.Code <= last || len(info.Code) != len("KN0000") {
			t.Errorf("%s stands after %s", info.Code, last)
		}
		if info.Title == "" || titles[info.Title] || info.Severity != SeverityError && info.Severity != SeverityWarning {
			t.Errorf("%+v", info)
		}
		last, titles[info.Title] = info.Code, true
	}
}
