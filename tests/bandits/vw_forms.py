"""Forms of Vowpal Wabbit's logs of decisions, and what its parser (9.11) makes of each.

A row of ``FORMS`` is a name, how the text is read (``adf``, ``cb`` with four actions, ``json``, ``cb json`` with four
actions, ``dsjson`` and ``slots``, which is ``--dsjson`` for ``--ccb_explore_adf``), the text, and the decisions: the
number of the chosen action, its cost, its probability, the weight, and the number of actions, or those that are
allowed. Without a label, the first three are None. ``REFUSED`` has what is one error here.
"""

FORMS = [
    ("a shared line with a tag, ends of lines of Windows", "adf",
     "shared day=1| warm dry\r\n| soup:1 salt:2\r\n0:1:0.5 | bread:0.5\r\n\r\n", [(1, 1, 0.5, 1, 2)]),
    ("no shared line, a negative cost", "adf", "1:-3:0.2 | oil:2\n| oil:3\n", [(0, -3, 0.2, 1, 2)]),
    ("a shared line and an action without a label", "adf", "shared | warm:2\n| soup:2\n", [(None, None, None, 1, 1)]),
    ("tags before the bar", "adf", "shared s1| warm\n0:0.1:0.75 a1| soup\na2| bread\n", [(0, 0.1, 0.75, 1, 2)]),
    ("spaces before the bar", "adf", "shared | warm\n | soup\n 0:1:0.5 | bread\n", [(1, 1, 0.5, 1, 2)]),
    ("values of 0", "adf", "shared | warm:0\n0:1:.5 | soup:0\n| bread:0\n", [(0, 1, 0.5, 1, 2)]),
    ("an empty shared line, more blank lines, no line end", "adf",
     "shared |\n0:1:0.5 | soup\n\n\n\n| bread\n0:0:1 | soup", [(0, 1, 0.5, 1, 1), (1, 0, 1, 1, 2)]),
    ("another number of the action", "adf", "7:1.5:0.25 |dish soup |price low\n|dish bread\n", [(0, 1.5, 0.25, 1, 2)]),
    ("numbers in other forms", "adf", "0:1e-1:.5 | soup\n\n0:-0:1. | soup\n", [(0, 0.1, 0.5, 1, 1), (0, 0, 1, 1, 1)]),
    ("the chosen action of four", "cb",
     "1:0:0.5 |guest old\n2:1:0.5 |guest :1 :2\n", [(0, 0, 0.5, 1, 4), (1, 1, 0.5, 1, 4)]),
    ("all costs, one of them with a probability", "cb", "1:1 2:2:0.7 3:3 | old\n", [(1, 2, 0.7, 1, [1, 2, 3])]),
    ("no label", "cb", "| old young\n | old\n", [(None, None, None, 1, 4)] * 2),
    ("the actions that are allowed", "cb", "1 3 | old\n4 2:1:0.5 | old\n3 | old\n",
     [(None, None, None, 1, [1, 3]), (1, 1, 0.5, 1, [2, 4]), (None, None, None, 1, [3])]),
    ("a cost without a probability", "cb", "2:1 | old\n", [(None, None, None, 1, 4)]),
    ("a tag, a blank line, a cost above 1", "cb",
     "1:2.5:0.5 'g1 | old\n\n4:1:1 g2| old\n", [(0, 2.5, 0.5, 1, 4), (3, 1, 1, 1, 4)]),
    ("a label beside its number", "json",
     '{"dry":"1","_labelIndex":1,"_label_Action":2,"_label_Cost":1,"_label_Probability":0.5,"_multi":[{"d":"a"},{"d":"b"}]}\n'
     '{"_multi":[{"d":"a"},{"d":"b"},{"d":"c"}]}\n', [(1, 1, 0.5, 1, 2), (None, None, None, 1, 3)]),
    ("a label in its action", "json",
     '{"g":{"old":1},"_multi":[{"d":"a"},{"d":"b","_label":{"Action":2,"Cost":-1,"Probability":0.25}}]}\n'
     '{"_multi":[{"d":"a","_label":"1:0:0.75"},{"_text":"hot soup"}]}\n', [(1, -1, 0.25, 1, 2), (0, 0, 0.75, 1, 2)]),
    ("labels of small letters", "json",
     '{"_labelindex":0,"_label_action":1,"_label_cost":2,"_label_probability":0.5,"_multi":[{"d":"a"}]}\n',
     [(0, 2, 0.5, 1, 1)]),
    ("a label as an object, as members, as text, and none", "cb json",
     '{"_label":{"Action":3,"Cost":2,"Probability":0.5},"guest":{"old":true}}\n'
     '{"_label_Action":1,"_label_Cost":0,"_label_Probability":1,"guest":{"old":true}}\n'
     '{"_label":"1:1 2:0.5:0.25","guest":{"old":true}}\n{"guest":{"old":true}}\n',
     [(2, 2, 0.5, 1, 4), (0, 0, 1, 1, 4), (1, 0.5, 0.25, 1, [1, 2]), (None, None, None, 1, 4)]),
    ("an event, values of 0, numbers of actions from 0", "dsjson",
     '{"_label_cost":-1,"_label_probability":0.5,"_label_Action":1,"_labelIndex":0,"a":[0,1],"p":[0.5,0.5],'
     '"c":{"day":{"warm":0.0},"_multi":[{},{"dish":{"hot":0}}]},"VWState":{"m":"N/A"},"_original_label_cost":-0.0}\n',
     [(0, -1, 0.5, 1, 2)]),
    ("an event of a part of them", "dsjson",
     '{"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,"_labelIndex":1,"a":[2,1],"p":[0.5,0.5],"pdrop":0.75,'
     '"c":{"day":{"warm":"1"},"_multi":[{"dish":{"hot":"1"}},{"dish":{"hot":"2"}}]}}\n', [(1, -1, 0.5, 4, 2)]),
    ("two actions of one tag, no features of the context", "dsjson",
     '{"_label_cost":0,"_label_probability":0.4,"_label_Action":3,"_labelIndex":2,"a":[3,1,2],"p":[0.4,0.3,0.3],'
     '"c":{"_multi":[{"_tag":"soup"},{"_tag":"soup"},{"_tag":"bread"}]}}\n', [(2, 0, 0.4, 1, 3)]),
    ("slots, the second of which may have one action", "slots",
     '{"c":{"_multi":[{"f":"1"},{"f":"2"}],"_slots":[{"_inc":[0,1],"_id":"top"},{"_inc":[1]}]},'
     '"_outcomes":[{"_label_cost":-1,"_id":"top","_a":[0,1],"_p":[0.6,0.4]},{"_label_cost":0,"_a":[1],"_p":[1]}]}\n',
     [(0, -1, 0.6, 1, [0, 1]), (1, 0, 1, 1, [1])]),
    ("slots of a part of the events", "slots",
     '{"c":{"day":{"f":"1"},"_multi":[{"f":"1"},{"f":"2"},{"f":"3"}],"_slots":[{"_id":"top","s":{"f":"1"}},{"_id":"end"}]},'
     '"_outcomes":[{"_label_cost":-2,"_a":[2,1,0],"_p":[0.5,0.25,0.25]},{"_label_cost":1,"_a":[1,0],"_p":[0.5,0.5]}],'
     '"pdrop":0.5}\n', [(2, -2, 0.5, 2, 3), (1, 1, 0.5, 2, [0, 1])]),
]  # fmt: skip
REFUSED = [
    ("two actions with a probability", "cb", "1:0:0.5 2:1:0.5 | old\n", "2 actions of a label have a probability"),
    ("an action above K", "cb", "5:0:0.5 | old\n", "action 5 is not one of 1 to 4; use --actions with more"),
    ("an action of 0", "cb", "0:0:0.5 | old\n", "action 0 is not one of 1 to 4"),
    ("a named action", "cb", "soup:0:0.5 | old\n", "expected a label action:cost:probability, got 'soup:0:0.5'"),
    ("a cost that is no number", "cb", "1:nan:0.5 | old\n", "expected a label action:cost:probability"),
    ("a probability above 1", "cb", "1:0:1.5 | old\n", r"must be in \(0, 1\], got 1.5"),
    ("a shared line", "cb", "shared | warm\n", "shared is of text for --cb_adf, which has a line per action"),
    ("lines of --cb without K", "adf", "1:0:1 | old\n2:1:1 | old\n", "use --actions K for text of --cb K"),
    ("costs of classes", "adf", "1:1 2:0 | old\n", "expected a label action:cost:probability, got '1:1 2:0'"),
    ("text of slots", "adf", "ccb shared | warm\nccb action | a\nccb slot 0:1:0.5 |\n", "decisions of several slots"),
    ("slates", "adf", "slates shared 0.8 | warm\n", "--slates"),
    ("continuous actions", "adf", "ca 185.1:0.6:6e-05 | old\n", "continuous actions"),
    ("continuous actions as JSON", "dsjson", '{"_label_ca":{"action":1,"cost":2},"c":{}}', "continuous"),
    ("slates as JSON", "dsjson", '{"c":{"_multi":[{"_slot_id":0}],"_slots":[{}]}}', "slates"),
    ("no event is left", "dsjson",
     '{"a":[1],"p":[1],"c":{"_multi":[{}]},"pdrop":1}', r"pdrop must be in \[0, 1\), got 1"),
    ("an index of no action", "json", '{"_labelIndex":2,"_multi":[{},{}]}', "_labelIndex: expected a number from 0"),
    ("a label of no action", "json", '{"_label":"1:0:1","_multi":[{}]}', "it has a label, but no _labelIndex"),
    ("a label that is a number", "json", '{"_label":1,"_multi":[{}]}', "_label: expected a text or an object, got 1"),
    ("a label of a class", "cb json", '{"_label_Label":1,"a":1}', "expected Action, Cost and Probability, got 'label'"),
    ("a label without its actions", "json", '{"_label":"1:0:1"}', "it has no _multi, the list of actions; use"),
    ("actions that are no list", "json", '{"_multi":{"a":1}}', "_multi: expected a list of actions"),
    ("an action that is no object", "json", '{"_multi":[1]}', "_multi: expected objects, got 1"),
]  # fmt: skip
