package impersonation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Identity is for whom requests are sent. The zero value is the one that runs the process.
type Identity struct {
	// ServiceAccount has the rights.
	ServiceAccount types.NamespacedName
	// Confined is true if nothing outside the ServiceAccount's namespace is asked for, whatever its rights are.
	Confined bool
}

// IsZero tells whether it is the identity that runs the process.
func (i Identity) IsZero() bool { return i == Identity{} }

// User is the name of the ServiceAccount as the API server knows it: system:serviceaccount:NAMESPACE:NAME.
func (i Identity) User() string {
	return serviceaccount.MakeUsername(i.ServiceAccount.Namespace, i.ServiceAccount.Name)
}

// Groups are those that the API server gives the ServiceAccount.
func (i Identity) Groups() []string {
	return append(serviceaccount.MakeGroupNames(i.ServiceAccount.Namespace), "system:authenticated")
}

// Permits tells whether objects in a namespace may be asked for at all; no namespace is that of cluster-scoped objects, and of
// those of all namespaces.
func (i Identity) Permits(namespace string) bool {
	return !i.Confined || namespace == i.ServiceAccount.Namespace
}

// Home is the namespace to which an identity is confined; empty if it is not.
func (i Identity) Home() string {
	if i.Confined {
		return i.ServiceAccount.Namespace
	}
	return ""
}

type contextKey struct{}

// NewContext has the requests of a context sent for an identity; the zero one takes back what was said before.
func NewContext(ctx context.Context, identity Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, identity)
}

// FromContext is for whom the requests of a context are sent.
func FromContext(ctx context.Context) Identity {
	identity, _ := ctx.Value(contextKey{}).(Identity)
	return identity
}
