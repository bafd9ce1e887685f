package watch

import (
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestHealth(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{}, "")
	refused := errors.New("connection refused")
	unnamed := apierrors.NewGenericServerResponse(http.StatusProxyAuthRequired, "get", schema.GroupResource{}, "", "", 0, true)
	const recovery = -1 // in place of a pause: an event came
	tests := map[string]struct {
		errs   []error
		pauses []time.Duration // before each error
		want   []bool          // whether it is logged
	}{
		"one outage":                 {errs: []error{missing, missing, missing}, pauses: []time.Duration{0, time.Second, time.Minute}, want: []bool{true, false, false}},
		"another reason":             {errs: []error{refused, missing, missing}, pauses: []time.Duration{0, time.Second, time.Second}, want: []bool{true, true, false}},
		"an answer without a reason": {errs: []error{refused, unnamed, unnamed}, pauses: []time.Duration{0, time.Second, time.Second}, want: []bool{true, true, false}},
		"after an event":             {errs: []error{missing, missing}, pauses: []time.Duration{0, recovery}, want: []bool{true, true}},
		"after a silence":            {errs: []error{missing, missing}, pauses: []time.Duration{0, 3 * time.Minute}, want: []bool{true, true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var h health
			now := time.Now()
			for i, err := range tc.errs {
				if tc.pauses[i] == recovery {
					if !h.recovered() || h.recovered() {
						t.Error("a recovery is not told exactly once")
					}
				} else {
					now = now.Add(tc.pauses[i])
				}
				if got := h.failed(err, now); got != tc.want[i] {
					t.Errorf("error %d (%v) is logged: %t, want %t", i+1, err, got, tc.want[i])
				}
			}
		})
	}
}
