// SPDX-License-Identifier: Apache-2.0

/// 1,024 short English words: each adds exactly ten bits to a generated passphrase.
enum WordList {
    static let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init)

    private static let text = """
        able acorn actor adapt adult after agent agree ahead aisle alarm album alert alien alley allow alloy almond
        alone along altar amber ample angle annex antler apple apron arbor arch arctic arena argue army aroma array
        arrow artist aspen asset atom attic audio aunt avid award awning axis axle bacon badge bagel baker ballad bamboo
        banana bank banner barn baron barrel basil basin batch bath baton beacon beads beam bean bear beard beast beaver
        become beech beef beetle begin bell belly belt bench bend berry best bike bill bingo bird bishop bison blade
        blank blast blaze blend blink bloom blue blunt blush board boat bolt bone bonus book boot botany bottle bottom
        bounce brain brake branch brass brave bread breeze brick bridge brief bright brim brisk broad bronze brook broom
        brown brush bucket buckle budget build bulb bull bumper bunch bundle burger bush button buzz cabin cable cactus
        cafe cage calm camel camera canal candle cannon canoe canvas canyon cape card cargo carol carpet carrot cart
        carve case cash castle catch cattle cause cave cedar celery cell cello cement census center cereal chain chalk
        chapel charm chart chase cheek cheese cherry chest chief chili chime chip chisel chord chorus chunk cider circle
        circus citrus city civic clamp claw clay clean clerk clever cliff climb clinic cloak clock cloth cloud clover
        club coach coast coat cobalt coffee coil coin cold collar color comb comet comic common cone coral cord cougar
        count county couple cousin cowboy coyote crab cradle crane crater crayon cream creek crest crew crisp cross
        crown crumb crust cube curb curl curve cycle dairy daisy damp dance danger dark dart data dawn deal deep deer
        delta denim depth derby desert desk dial dice diesel diet digit dinner direct dish disk ditch dive dock dollar
        dose double dough dove dozen draft dragon drama draw dream dress drift drill drink drive drop drum duck duet
        dusk dust duty dwarf eagle early earth east echo edge edit elbow elder elect ember emblem empty engine enjoy
        enter entry equal errand essay estate ether event exact exam exit expert extra fable fabric face fact fair
        falcon fall family famous farm fast fawn feast fence fern ferry fest fiber fiddle field figure film filter final
        finch find fine finger fire firm first five flag flame flash flask flat fleet float flock floor flour flow
        flower fluid flute foam focus foil folk font food forest fork form fort forum fossil four frame fresh friend
        front frost fruit full funnel fuse future gadget galaxy gallon game gather gear genre gentle giant gift ginger
        glad glass glide globe glory glove glow glue goal gold golf good goose gorge gown grace grade grain grape graph
        grass gravel green grid grin grip group guard guess guide guitar guru habit hair half hall hammer hand happy
        hard hare harp hatch hawk hazel heart heat hedge heel helmet herd hero heron high hill hint hive hobby home
        honey hood horn hotel hour human humble humor hunt hybrid icon idea inch inlet iris iron island item jacket jade
        jazz jeans jelly jewel join joke juice jumbo jump june jungle junior jury kayak keel keep kelp kettle kiosk kite
        kiwi knee knife knight knit knob knot koala label lace ladder lady lamb lamp lance land lane large laser latch
        laugh lawn layer leaf league leap learn ledge left lemon lentil letter level lever light limb lime limit linen
        lion liquid list little lizard lobby local lodge logic loud lounge love lumber lynx lyric macaw magic magnet
        maize major mantle marble march margin marina mark market maroon marsh mason math matrix meal melody melon memo
        menu merit metal meteor meter mild milk mill mimic mind mint minute mist mobile model modern monkey month moose
        moral mosaic moss mount mouse mouth mule mural music myth name napkin narrow native nature navy near neck needle
        neon nephew nest nine noble noise noon north nose note novel number nurse nylon oasis ocean octave office often
        olive omega onion onyx open opera orbit orchid order osprey otter ounce oval owner pace pack paddle page pail
        paint pair palm panda paper parade park parrot party pasta path patrol peace peak peanut pear pearl pebble pedal
        pencil perch permit phone piano picnic pier pilot pine pink pipe pitch pizza place planet plant plate plaza plum
        plus pocket poem poet point polar pole polka pony pool poppy porch post potato pouch powder praise press pretty
        prince print prism prize proof public puddle pulse puma punch pupil purple puzzle python quail queen quest quick
        quiet quill quilt quiz rabbit race radar radio raft rail rain ranch rapid razor ready record reef relay remedy
        rent report resin rhyme ribbon rich ride ridge ripple road robot rocket root rope round royal rubber ruby ruler
        runner rust sable saddle safari salad salmon salon sample sand satin scale scene school scoop scout screen seal
        season second seed seven shadow shape shark sheep shell shield shift shine ship shirt shoe shop shore short
        shovel shrimp shrub sign signal silk silver simple siren skill skirt slate sled sleep slope small smart smile
        smooth snack snail snake snow soap soccer soda sofa soft soil solar solid solo song sonic soup south space spark
        speed spin spiral spoon spray spruce square squash squid stable stack staff stage stand start state statue steel
        stem step stereo stew stick stone story stove stream string style suit summer sunny super surf swift swim swing
        switch sword symbol syrup table tablet tail talent tank target taste taxi teal team temple test text thick thing
        third three throne thumb ticket tide tiger tile timber time tiny title toast today token tomato tone tooth topaz
        topic torch tower town track trade trail train tray tree tribe trio trophy trout truck true trust tulip tunnel
        turkey turn turtle twin type ultra uncle union unit urban valley vault velvet vendor venue verb verse vest video
        view violet violin vision visit vivid volume vote voyage wagon waist walk wall walnut water wave wealth wedge
        week west whale wheat whisk white wild willow wind wine wing winter wire wise wish wonder wood word work world
        wrist write yacht yard year yoga young zebra zenith zinc
        """
}
