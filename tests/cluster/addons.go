package main

import (
	"context"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// What every cluster has and Kubernetes itself does not bring: names of services (instead of CoreDNS, whose dependencies
// are not those of this release of Kubernetes), and volumes for claims of the default storage class. A process of the
// node, so that no image is needed.
func addons(kubeconfig, address string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(err)
	client, err := kubernetes.NewForConfig(config)
	check(err)
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	names := names{factory}
	_, err = factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(handler(func(it any) {
		provision(client, it.(*core.PersistentVolumeClaim))
	}))
	check(err)
	_, err = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(handler(func(it any) {
		reclaim(client, it.(*core.PersistentVolume))
	}))
	check(err)
	factory.Core().V1().Services().Informer()
	factory.Discovery().V1().EndpointSlices().Informer()
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	names.serve(address + ":53")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func handler(each func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: each, UpdateFunc: func(_, it any) { each(it) }}
}

const class = "local"
const provisioner = "agentcli.test/local"

// Local volumes rather than those of a path of the host, since the latter ignore fsGroup, which other storage honours.
func provision(client kubernetes.Interface, claim *core.PersistentVolumeClaim) {
	name := "pvc-" + string(claim.UID)
	path := "/var/lib/volumes/" + name
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != class || claim.Spec.VolumeName != "" {
		return
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		log.Print(err)
		return
	}
	_, err := client.CoreV1().PersistentVolumes().Create(context.Background(), &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner}},
		Spec: core.PersistentVolumeSpec{
			Capacity:                      core.ResourceList{core.ResourceStorage: claim.Spec.Resources.Requests[core.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			StorageClassName:              class,
			PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: path}},
			ClaimRef: &core.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{{
				MatchExpressions: []core.NodeSelectorRequirement{{Key: core.LabelHostname, Operator: core.NodeSelectorOpExists}},
			}}}},
		},
	}, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return
	}
	log.Print("volume ", name, " of claim ", claim.Namespace, "/", claim.Name, ": ", err)
}

func reclaim(client kubernetes.Interface, volume *core.PersistentVolume) {
	if volume.Spec.StorageClassName != class || volume.Status.Phase != core.VolumeReleased || volume.DeletionTimestamp != nil {
		return
	}
	err := client.CoreV1().PersistentVolumes().Delete(context.Background(), volume.Name, meta.DeleteOptions{})
	log.Print("released volume ", volume.Name, ": ", err, ", ", os.RemoveAll(volume.Spec.Local.Path))
}

type names struct {
	informers.SharedInformerFactory
}

func (n names) serve(address string) {
	socket, err := net.ListenPacket("udp", address)
	check(err)
	packet := make([]byte, 4096)
	for {
		size, peer, err := socket.ReadFrom(packet)
		check(err)
		var query dnsmessage.Message
		if query.Unpack(packet[:size]) != nil || len(query.Questions) != 1 {
			continue
		}
		question := query.Questions[0]
		reply := dnsmessage.Message{Questions: query.Questions, Header: dnsmessage.Header{
			ID: query.ID, Response: true, Authoritative: true, RecursionDesired: query.RecursionDesired, RecursionAvailable: true,
		}}
		addresses, exists := n.lookup(strings.ToLower(question.Name.String()))
		if !exists {
			reply.RCode = dnsmessage.RCodeNameError
		}
		for _, address := range addresses {
			if four := net.ParseIP(address).To4(); four != nil && question.Type == dnsmessage.TypeA {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 5},
					Body:   &dnsmessage.AResource{A: [4]byte(four)},
				})
			}
		}
		if packed, err := reply.Pack(); err == nil {
			_, _ = socket.WriteTo(packed, peer)
		}
	}
}

// The addresses of SERVICE.NAMESPACE.svc.cluster.local, and, if that has none of its own, of its ready pods, and of
// POD.SERVICE.NAMESPACE.svc.cluster.local. No other name exists: the node does not reach the Internet.
func (n names) lookup(name string) (addresses []string, exists bool) {
	rest, found := strings.CutSuffix(name, ".svc.cluster.local.")
	parts := strings.Split(rest, ".")
	if !found || len(parts) < 2 || len(parts) > 3 {
		return nil, false
	}
	namespace, service, host := parts[len(parts)-1], parts[len(parts)-2], ""
	if len(parts) == 3 {
		host = parts[0]
	}
	it, err := n.Core().V1().Services().Lister().Services(namespace).Get(service)
	if err != nil {
		return nil, false
	}
	if it.Spec.ClusterIP != core.ClusterIPNone && host == "" {
		return []string{it.Spec.ClusterIP}, true
	}
	slices, _ := n.Discovery().V1().EndpointSlices().Lister().EndpointSlices(namespace).List(
		labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: service}))
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			if ready && (host == "" || endpoint.Hostname != nil && *endpoint.Hostname == host) {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, host == "" || len(addresses) > 0
}
