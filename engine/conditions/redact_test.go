package conditions

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kanon.dev/kanon/engine/apply"
)

// What is said of a rule that reads or writes Secrets names the field, and no value.
func TestWithoutValues(t *testing.T) {
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "n", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "labels"), "Hunter2 !", "a valid label must be Hunter2"),
	})
	policy := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "n", errors.New(text))
	}
	tests := map[string]struct {
		err  error
		want string
	}{
		"refused by the API server": {&apply.InvalidError{Err: refused}, "metadata.labels: FieldValueInvalid"},
		"a status that is refused":  {refused, "metadata.labels: FieldValueInvalid"},
		"refused without a field":   {&apply.InvalidError{Err: apierrors.NewBadRequest(`cannot parse "Hunter2"`)}, "the API server refuses it"},
		"no base64":                 {&apply.InvalidError{Err: apierrors.NewBadRequest("illegal base64 data: Hunter2"), Fields: []string{"data.pin"}}, "data.pin: must be base64"},
		"a field that is not there": {&apply.InvalidError{Err: apierrors.NewBadRequest(`strict decoding error: unknown field "spec.x"`)}, "spec.x: there is no such field"},
		"a type that Go has not":    {&apply.InvalidError{Err: apierrors.NewBadRequest(`json: cannot unmarshal "Hunter2" into Go struct field Secret.data of type []uint8`)}, "Secret.data: must be of type []uint8"},
		"a type that does not fit":  {&apply.InvalidError{Err: errors.New(".data.a: expected string, got Hunter2")}, ".data.a: expected string"},
		"a policy":                  {policy("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: Hunter2"), "ValidatingAdmissionPolicy 'p' with binding 'b' denied request"},
		"a webhook":                 {policy(`admission webhook "w" denied the request: Hunter2`), `admission webhook "w" denied the request`},
		"a webhook that quotes":     {policy(`admission webhook "w" denied the request: Hunter2, so w denied request`), `admission webhook "w" denied the request`},
		"a webhook's conflict": {
			&apply.ReplacedError{Err: apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "n", errors.New(`admission webhook "w" denied the request: Hunter2`))},
			`admission webhook "w" denied the request`,
		},
		"a right that is missing": {policy(`User "u" cannot create resource`), `User "u" cannot create resource`},
		"the network":             {errors.New("connection refused"), "connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Redact(test.err)
			if strings.Contains(got.Error(), "Hunter2") || !strings.Contains(got.Error(), test.want) {
				t.Errorf("it says %q, want %q", got, test.want)
			}
			if again := Redact(got); again.Error() != got.Error() {
				t.Errorf("the second time it says %q, want %q", again, got)
			}
			if OfWrite("", got).Reason != OfWrite("", test.err).Reason {
				t.Error("it is not the same problem any more")
			}
		})
	}
}
