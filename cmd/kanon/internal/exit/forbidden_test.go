package exit

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	forbidden := func(group, resource, why string) error {
		return fmt.Errorf("read: %w", apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", errors.New(why)))
	}
	const ask = "; ask whoever administers the cluster for this right; '"
	for name, tc := range map[string]struct {
		err  error
		want string // what is added
	}{
		"in a namespace": {
			forbidden("", "configmaps", `User "jane" cannot list resource "configmaps" in API group "" in the namespace "shop"`),
			ask + "kubectl auth can-i list configmaps -n shop' tells whether you have it",
		},
		"in all": {
			forbidden("apps", "deployments", `User "jane" cannot patch resource "deployments/status" in API group "apps" at the cluster scope`),
			ask + "kubectl auth can-i patch deployments.apps --subresource=status -A' tells whether you have it",
		},
		"a quota":       {forbidden("", "pods", `exceeded quota: small`), ""},
		"another error": {errors.New("broken"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Message(tc.err); got != tc.err.Error()+tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.err.Error()+tc.want)
			}
		})
	}
}
