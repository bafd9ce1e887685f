package apply

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestWriteErrorTellsPermanentFromTransient(t *testing.T) {
	things := schema.GroupResource{Group: "test", Resource: "things"}
	thing := schema.GroupKind{Group: "test", Kind: "Thing"}
	c := prepare(t, rendered)
	tests := map[string]struct {
		err  error
		want string
	}{
		"strict decoding":    {apierrors.NewBadRequest(`strict decoding error: unknown field "spec.x"`), "invalid"},
		"validation":         {apierrors.NewInvalid(thing, "child", field.ErrorList{field.Required(field.NewPath("spec"), "")}), "invalid"},
		"too large":          {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "invalid"},
		"typed patch":        {apierrors.NewInternalError(errors.New("failed to create typed patch object (ns/child; test/v1, Kind=Thing): .spec.x: field not declared in schema")), "invalid"},
		"quota or no rights": {apierrors.NewForbidden(things, "child", errors.New("exceeded quota")), "other"},
		"server trouble":     {apierrors.NewInternalError(errors.New("etcd is away")), "other"},
		"too many requests":  {apierrors.NewTooManyRequests("slow down", 1), "other"},
		"network":            {fmt.Errorf("dial: %w", errors.New("connection refused")), "other"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := OfObject("apply", c.Object, tt.err)
			if got := class(err); got != tt.want && (tt.want != "other" || got[:5] != tt.want) {
				t.Errorf("%v is %q, want %q", err, got, tt.want)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("%v does not wrap the server's answer", err)
			}
		})
	}
}
