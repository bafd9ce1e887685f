package database

import (
	"context"
	"crypto/rand"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps the Secret, the Service and the StatefulSet of each Database.
type Reconciler struct{ client.Client }

// Reconcile brings the objects of one Database up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var db Database
	if err := r.Get(ctx, req.NamespacedName, &db); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !db.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: db.Name + "-credentials"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: db.Name}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: db.Name}}
	for _, child := range []struct {
		object client.Object
		render func()
	}{
		{secret, func() { renderSecret(secret) }},
		{service, func() { renderService(&db, service) }},
		{set, func() { renderStatefulSet(&db, secret, set) }},
	} {
		if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, child.object, func() error {
			child.render()
			return controllerutil.SetControllerReference(&db, child.object, r.Scheme())
		}); err != nil {
			return ctrl.Result{}, fmt.Errorf("apply %T: %w", child.object, err)
		}
	}
	return ctrl.Result{}, r.report(ctx, &db, secret)
}

func (r *Reconciler) report(ctx context.Context, db *Database, secret *corev1.Secret) error {
	status := DatabaseStatus{Phase: "Pending", Host: db.Name + "." + db.Namespace + ".svc", Secret: secret.Name}
	var pod corev1.Pod
	if err := r.Get(ctx, client.ObjectKey{Namespace: db.Namespace, Name: db.Name + "-0"}, &pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get pod: %w", err)
	}
	if pod.Status.Phase != "" {
		status.Phase = string(pod.Status.Phase)
	}
	if db.Status == status {
		return nil
	}
	db.Status = status
	if err := r.Status().Update(ctx, db); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

// renderSecret keeps the password that exists.
func renderSecret(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data["username"] = []byte("postgres")
	if len(secret.Data["password"]) == 0 {
		secret.Data["password"] = []byte(rand.Text())
	}
}

func renderService(db *Database, service *corev1.Service) {
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.Selector = labelsOf(db)
	if len(service.Spec.Ports) == 0 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	service.Spec.Ports[0].Name, service.Spec.Ports[0].Port = "postgres", 5432
}

func renderStatefulSet(db *Database, secret *corev1.Secret, set *appsv1.StatefulSet) {
	set.Spec.Replicas = new(int32(1))
	if set.CreationTimestamp.IsZero() { // these fields are immutable
		set.Spec.ServiceName = db.Name
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labelsOf(db)}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: db.Spec.Storage},
				},
			},
		}}
	}
	set.Spec.Template.Labels = labelsOf(db)
	if len(set.Spec.Template.Spec.Containers) == 0 {
		set.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &set.Spec.Template.Spec.Containers[0]
	container.Name, container.Image = "postgres", "postgres:"+db.Spec.Version
	container.Ports = []corev1.ContainerPort{{Name: "postgres", ContainerPort: 5432, Protocol: corev1.ProtocolTCP}}
	container.Env = []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Key: "password",
		},
	}}}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/postgresql/data"}}
}

func labelsOf(db *Database) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "postgres", "app.kubernetes.io/instance": db.Name}
}

// SetupWithManager watches Databases and what belongs to them. A change of the Pod shows in the StatefulSet.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Database{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.Service{}).
		Owns(&appsv1.StatefulSet{}).
		Complete(r)
}
