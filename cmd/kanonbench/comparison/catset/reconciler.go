package catset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps the Service, the claims and the Pods of each CatSet.
type Reconciler struct{ client.Client }

// Reconcile does one step: it creates, removes or replaces at most one Pod.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cats CatSet
	if err := r.Get(ctx, req.NamespacedName, &cats); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cats.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.applyService(ctx, &cats); err != nil {
		return ctrl.Result{}, err
	}
	pods, err := r.pods(ctx, &cats)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.step(ctx, &cats, pods); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, &cats, pods)
}

// step fills the first gap, then removes what is too much from the last on, then updates from the last on.
func (r *Reconciler) step(ctx context.Context, cats *CatSet, pods []corev1.Pod) error {
	for i := range int(cats.Spec.Replicas) {
		at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return ordinal(&p) == i })
		if at < 0 {
			return r.create(ctx, cats, i)
		}
		if !isReady(&pods[at]) && isCurrent(cats, &pods[at]) {
			return nil // the Pods after it wait
		}
	}
	for _, pod := range slices.Backward(pods) {
		switch {
		case ordinal(&pod) >= int(cats.Spec.Replicas), !isCurrent(cats, &pod):
			if !pod.DeletionTimestamp.IsZero() {
				return nil
			}
			return client.IgnoreNotFound(r.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID}))
		case !isReady(&pod):
			return nil
		}
	}
	return nil
}

// create creates a Pod and, before it, its claim. The claim has no owner, so it stays.
func (r *Reconciler) create(ctx context.Context, cats *CatSet, i int) error {
	name := cats.Name + "-" + strconv.Itoa(i)
	labels := map[string]string{"cats": cats.Name}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: cats.Namespace, Name: "data-" + name, Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: cats.Spec.Storage},
			},
		},
	}
	if err := r.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create claim %s: %w", claim.Name, err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: cats.Namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			Hostname:  name,
			Subdomain: cats.Name,
			Containers: []corev1.Container{{
				Name: "cat", Image: cats.Spec.Image,
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}},
		},
	}
	if err := controllerutil.SetControllerReference(cats, pod, r.Scheme()); err != nil {
		return err
	}
	// The cache may not have the Pod of the last reconcile yet.
	if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create pod %s: %w", name, err)
	}
	return nil
}

func (r *Reconciler) applyService(ctx context.Context, cats *CatSet) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: cats.Namespace, Name: cats.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Spec.Selector = map[string]string{"cats": cats.Name}
		return controllerutil.SetControllerReference(cats, service, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("apply service: %w", err)
	}
	return nil
}

// pods are the Pods of the CatSet, by their ordinals.
func (r *Reconciler) pods(ctx context.Context, cats *CatSet) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.List(ctx, &list, client.InNamespace(cats.Namespace), client.MatchingLabels{"cats": cats.Name}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, cats) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(ordinal(&a), ordinal(&b)) })
	return pods, nil
}

func (r *Reconciler) report(ctx context.Context, cats *CatSet, pods []corev1.Pod) error {
	var ready int32
	for _, pod := range pods {
		if isReady(&pod) {
			ready++
		}
	}
	if cats.Status.ReadyPods == ready {
		return nil
	}
	cats.Status.ReadyPods = ready
	if err := r.Status().Update(ctx, cats); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

func ordinal(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

func isCurrent(cats *CatSet, pod *corev1.Pod) bool {
	return pod.Spec.Containers[0].Image == cats.Spec.Image
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// SetupWithManager watches CatSets, and what belongs to them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&CatSet{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Pod{}).
		Complete(r)
}
