package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	forbidden := func(group, resource, why string) error {
		return fmt.Errorf("read: %w", apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", errors.New(why)))
	}
	const ask = "; ask whoever administers the cluster for this right"
	for name, tc := range map[string]struct {
		err  error
		want string // what is added
	}{
		"in a namespace": {
			forbidden("", "configmaps", `User "jane" cannot list resource "configmaps" in API group "" in the namespace "shop"`),
			ask,
		},
		"in all": {
			forbidden("apps", "deployments", `User "jane" cannot patch resource "deployments/status" in API group "apps" at the cluster scope`),
			ask,
		},
		"a quota": {forbidden("", "pods", `exceeded quota: small`), ""},
		"who it is": {
			fmt.Errorf("ask: %w", apierrors.NewUnauthorized("no")), "; log in again, or choose another user with --user or --context",
		},
		"no API server": {
			fmt.Errorf("ask: %w", manager.ErrNoVersion),
			"; check that this is the address of the API server, and not of a proxy or a login page",
		},
		"a certificate": {
			fmt.Errorf("ask: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			"; check certificate-authority and server of the cluster in the kubeconfig",
		},
		"another error": {errors.New("broken"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ErrorMessage(tc.err); got != tc.err.Error()+tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.err.Error()+tc.want)
			}
		})
	}
}
