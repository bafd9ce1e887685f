package plane

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// Namespace is the namespace of parents and children.
const Namespace = "kanonbench"

// The engine's ServiceAccount, in Kanon's own namespace.
const (
	engineNamespace = "kanon-system"
	engineAccount   = "engine"
)

// tokenLife is the validity of tokens in seconds. It is longer than any benchmark.
const tokenLife = int64(48 * time.Hour / time.Second)

// Define defines parent kinds up to a number, and waits until they are served.
func (p *Plane) Define(ctx context.Context, kinds int) error {
	for ; p.kinds < kinds; p.kinds++ {
		if err := p.define(ctx, app.Kind(p.kinds)); err != nil {
			return fmt.Errorf("define %s: %w", app.Kind(p.kinds), err)
		}
	}
	return nil
}

func (p *Plane) define(ctx context.Context, kind app.Kind) error {
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(app.Definition(kind)), &definition.Object); err != nil {
		return fmt.Errorf("read definition: %w", err)
	}
	if err := p.objects.Create(ctx, &definition); err != nil {
		return fmt.Errorf("create definition: %w", err)
	}
	served := func(ctx context.Context) (bool, error) {
		_, err := p.core.Discovery().RESTClient().Get().AbsPath("/apis", app.Group, app.Version, kind.Resource()).DoRaw(ctx)
		return err == nil, nil // any error is retried
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, served); err != nil {
		return fmt.Errorf("wait until the definition is served: %w", err)
	}
	return nil
}

// identify makes the namespaces and the identity of engines. The identity has all rights, but is not in system:masters,
// which the API server treats specially.
func (p *Plane) identify(ctx context.Context) error {
	for _, name := range []string{Namespace, engineNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := p.core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace: %w", err)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: engineNamespace, Name: engineAccount}}
	if _, err := p.core.CoreV1().ServiceAccounts(engineNamespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ServiceAccount: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kanonbench-engine"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: engineNamespace, Name: engineAccount}},
	}
	if _, err := p.core.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ClusterRoleBinding: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLife)}}
	token, err := p.core.CoreV1().ServiceAccounts(engineNamespace).CreateToken(ctx, engineAccount, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	return p.writeKubeconfig(token.Status.Token)
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
