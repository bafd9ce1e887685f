package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What an error quotes may be as large as an object.
func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var output strings.Builder
		long := strings.Repeat("x", 900_000)
		NewLogger(&output, format, NewVerbosity(0)).Error(errors.New(long), long, "name", long)
		if output.Len() > 3*maxLogged+500 {
			t.Errorf("the line has %d bytes", output.Len())
		}
	}
}

func TestVerbosityIsChanged(t *testing.T) {
	t.Parallel()
	var output strings.Builder
	verbosity := NewVerbosity(0)
	log := NewLogger(&output, "text", verbosity)
	ask := func(method, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		verbosity.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, "/debug/flags/v", strings.NewReader(body)))
		return answer
	}
	log.V(2).Info("hidden")
	if answer := ask(http.MethodPut, "2\n"); answer.Code != http.StatusOK || answer.Body.String() != "2\n" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	log.V(2).Info("shown")
	log.V(3).Info("hidden")
	for _, body := range []string{"", "much", "-1", "11", strings.Repeat("1", 2000)} {
		if answer := ask(http.MethodPut, body); answer.Code != http.StatusBadRequest {
			t.Errorf("%q is answered with %d", body, answer.Code)
		}
	}
	if answer := ask(http.MethodGet, ""); answer.Body.String() != "2\n" {
		t.Errorf("the verbosity is shown as %s", answer.Body)
	}
	if got := output.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "level=DEBUG msg=shown") {
		t.Errorf("the log is\n%s", got)
	}
}

// client-go reports as an error that a call was cancelled.
func TestCancelledCallsAreNoErrors(t *testing.T) {
	t.Parallel()
	var output strings.Builder
	log := NewLogger(&output, "text", NewVerbosity(0)).WithName("client-go").WithValues("rule", "r")
	log.Error(fmt.Errorf("read the body: %w", context.Canceled), "Unexpected error when reading response body")
	log.Error(errors.New("reset"), "Another error")
	if text := output.String(); strings.Contains(text, "cancel") || !strings.Contains(text, "reset") {
		t.Errorf("the log has %q, want the second error only", text)
	}
}
