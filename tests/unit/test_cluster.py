import pickle

from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, Cluster, Node, PartitionInfo, TopicId, TopicInfo


def test_look_ups_answer_none_for_what_the_snapshot_lacks() -> None:
    node = Node(1, "a", 9092)
    topic = TopicInfo("t", NO_TOPIC_ID, False, None, {0: PartitionInfo("t", 0, 1)})
    cluster = Cluster({1: node}, controller_id=2, topics={"t": topic})
    assert cluster.node(1) is node
    assert cluster.node(2) is None
    assert cluster.controller() is None
    assert cluster.leader_id("t", 0) == 1
    assert cluster.leader_id("t", 1) == NO_NODE
    assert cluster.partition("u", 0) is None


def test_node_names_itself_as_people_dial_it() -> None:
    assert str(Node(3, "kafka-3", 9092)) == "kafka-3:9092 (id 3)"
    assert str(Node(-1, "::1", 9092)) == "[::1]:9092"


def test_topic_id_prints_as_kafkas_tools_print_it_and_is_its_bytes() -> None:
    raw = bytes(range(16))
    topic_id = TopicId(raw)
    assert (str(topic_id), repr(topic_id), topic_id == raw) == (
        "AAECAwQFBgcICQoLDA0ODw",
        "TopicId('AAECAwQFBgcICQoLDA0ODw')",
        True,
    )
    assert str(TopicId(NO_TOPIC_ID)) == ""
    assert pickle.loads(pickle.dumps(topic_id)) == topic_id
